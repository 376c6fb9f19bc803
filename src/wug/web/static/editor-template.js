/* Makes items from a template: cells with placeholders such as `{noun_sg}`, and a list of words for each. */
import * as model from "./editor-model.js";
import { by } from "./site.js";

const SLOT = /\{([\p{L}\p{N}_-]+)\}/gu, MOST = 2000;

/* The placeholders of an item, in reading order. */
const slotsOf = (item) => [...new Set(item.rows.flatMap((row) => row.cells.flatMap((text) => [...text.matchAll(SLOT)].map(([, name]) => name))))];

/* One set of words per new item: line by line, or every combination. */
const fillings = (slots, lists, crossed) => {
  const empty = slots.find((name) => !lists[name]?.length);
  if (!slots.length) throw new Error("The item has no place to fill in: write {noun_sg} or the like into its cells first.");
  if (empty !== undefined) throw new Error(`There are no words for {${empty}} yet.`);
  const counts = slots.map((name) => lists[name].length);
  const total = crossed ? counts.reduce((product, count) => product * count, 1) : Math.max(...counts);
  if (total > MOST) throw new Error(`These would be ${total.toLocaleString("en")} items; ${MOST.toLocaleString("en")} at once is the most.`);
  if (!crossed) {
    // A list with one word is used for every item.
    const short = slots.find((name) => lists[name].length !== 1 && lists[name].length !== total);
    if (short !== undefined) throw new Error(`{${short}} has ${lists[short].length} words and another list has ${total}: line by line, all lists have as many words, or one.`);
    return Array.from({ length: total }, (_, index) => Object.fromEntries(slots.map((name) => [name, lists[name][lists[name].length === 1 ? 0 : index]])));
  }
  return slots.reduce((made, name) => made.flatMap((one) => lists[name].map((word) => ({ ...one, [name]: word }))), [{}]);
};

/* The suite with one item per set of words, after the template or instead of it. */
const fillTemplate = (state, i, sets, keep) => {
  const template = state.items[i], start = model.nextNumber(state);
  const made = sets.map((words, index) => ({
    ...template,
    number: keep || index > 0 ? start + index - (keep ? 0 : 1) : template.number,
    rows: template.rows.map((row) => ({
      ...row,
      cells: row.cells.map((text) => text.replace(SLOT, (whole, name) => words[name] ?? whole)),
      extras: row.extras.map(() => null),
    })),
  }));
  return { ...state, items: [...state.items.slice(0, keep ? i + 1 : i), ...made, ...state.items.slice(i + 1)] };
};

export const makeTemplate = ({ state, change, grid, notice }) => {
  const dialog = by("template-dialog"), list = by("template-lists");
  let place = 0;

  const fields = () => [...list.querySelectorAll("textarea")];
  const listsOf = () => Object.fromEntries(fields().map((field) => [field.dataset.slot, field.value.split("\n").map((word) => word.trim()).filter(Boolean)]));
  const sets = () => fillings(slotsOf(state().items[place]), listsOf(), by("template-cross").checked);

  const preview = () => {
    try {
      const made = sets(), first = fillTemplate(state(), place, made.slice(0, 1), false).items[place];
      by("template-preview").textContent = `${made.length} ${made.length === 1 ? "item" : "items"}. The first: ${first.rows.map(model.sentenceOf).join(" / ")}`;
      by("template-preview").classList.remove("bad");
      by("template-go").disabled = false;
    } catch (error) {
      by("template-preview").textContent = error.message;
      by("template-preview").classList.add("bad");
      by("template-go").disabled = true;
    }
  };

  const open = () => {
    if (!grid.finish()) return;
    place = grid.here().item;
    const item = state().items[place], before = listsOf();
    by("template-of").textContent = `Item ${item.number}`;
    list.replaceChildren(...slotsOf(item).map((name) => {
      const label = document.createElement("label"), field = document.createElement("textarea");
      label.textContent = `{${name}}`;
      field.dataset.slot = name;
      field.rows = 8;
      field.spellcheck = false;
      field.value = (before[name] ?? []).join("\n");
      label.append(field);
      return label;
    }));
    preview();
    dialog.showModal();
    fields()[0]?.focus();
  };

  // Pasted columns fill this list and the following ones.
  list.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain").replace(/[\r\n]+$/, "");
    if (!text.includes("\t")) return;
    event.preventDefault();
    const rows = text.split(/\r?\n/).map((line) => line.split("\t"));
    fields().slice(fields().indexOf(event.target)).forEach((field, column) => {
      if (rows.some((row) => row.length > column)) field.value = rows.map((row) => (row[column] ?? "").trim()).join("\n");
    });
    preview();
  });
  dialog.addEventListener("input", preview);
  dialog.addEventListener("submit", (event) => {
    if (event.submitter?.value !== "fill") return;
    const made = sets();
    change(fillTemplate(state(), place, made, by("template-keep").checked));
    notice(`${made.length} ${made.length === 1 ? "item" : "items"} made of the template; Undo (Ctrl+Z) takes them back.`, "good");
  });
  by("template").addEventListener("click", open);
};
