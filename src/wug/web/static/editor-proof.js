/* All sentences as plain text for proof-reading, by item or condition; repeated words are marked. */
import { FIRST } from "./editor-acts.js";
import * as model from "./editor-model.js";
import { by, element } from "./site.js";

const PAGE = 200;
const TWICE = /(?<![\p{L}\p{N}])([\p{L}\p{N}]+)(\s+)\1(?![\p{L}\p{N}])/giu;

/* The sentences in reading order, each with its position in the grid. */
const sentencesOf = (state, byCondition) => {
  const found = model.rowsOf(state).map(({ item, row }, index) => {
    const line = state.items[item].rows[row];
    return { row: index + 1, item: state.items[item].number, condition: line.condition, text: model.sentenceOf(line) };
  });
  if (!byCondition) return found;
  const order = new Map(model.conditionsOf(state).map((name, index) => [name, index]));
  return found.sort((a, b) => order.get(a.condition) - order.get(b.condition) || a.row - b.row);
};

export const makeProof = ({ state, grid }) => {
  const dialog = by("proof-dialog");
  let sentences = [], page = 0;

  const marked = (text) => {
    const parts = [];
    let end = 0;
    for (const found of text.matchAll(TWICE)) {
      parts.push(text.slice(end, found.index), element("mark", "", found[0]));
      end = found.index + found[0].length;
    }
    return [...parts, text.slice(end)];
  };
  const line = ({ row, item, condition, text }) => {
    const made = document.createElement("tr");
    const words = document.createElement("td"), go = element("button", "link");
    go.type = "button";
    go.dir = "auto";
    go.append(...marked(text || "(empty)"));
    go.addEventListener("click", () => { dialog.close(); grid.go(row, FIRST); });
    words.append(go);
    made.append(element("td", "num", String(item)), element("td", "", condition), words);
    return made;
  };

  const draw = () => {
    sentences = sentencesOf(state(), by("proof-order").value === "condition");
    const pages = Math.max(1, Math.ceil(sentences.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const some = sentences.slice(page * PAGE, (page + 1) * PAGE);
    by("proof-rows").replaceChildren(...some.map(line));
    const doubled = sentences.filter(({ text }) => text.search(TWICE) >= 0).length;
    const count = `${(page * PAGE + 1).toLocaleString("en")}–${(page * PAGE + some.length).toLocaleString("en")} of ${sentences.length.toLocaleString("en")}`;
    by("proof-count").textContent = doubled ? `${count}; ${doubled} with a repeated word` : count;
    by("proof-before").disabled = page === 0;
    by("proof-next").disabled = page === pages - 1;
    by("proof-scroll").scrollTop = 0;
  };
  const turn = (way) => { page += way; draw(); };

  by("proof").addEventListener("click", () => { if (grid.finish()) { page = 0; draw(); dialog.showModal(); } });
  by("proof-order").addEventListener("change", () => { page = 0; draw(); });
  by("proof-before").addEventListener("click", () => turn(-1));
  by("proof-next").addEventListener("click", () => turn(1));
  by("proof-copy").addEventListener("click", async () => {
    const text = sentences.map(({ item, condition, text: words }) => `${item}\t${condition}\t${words}`).join("\n");
    const said = await navigator.clipboard?.writeText(text).then(() => "Copied", () => null) ?? "Not allowed here";
    by("proof-copy").textContent = said;
    setTimeout(() => { by("proof-copy").textContent = "Copy all"; }, 1500);
  });
};
