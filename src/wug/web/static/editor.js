/* The suite editor: the state, its history, and the parts of the page. */
import { mergeTable } from "./editor-blocks.js";
import { interactionText, simpleText } from "./editor-builder.js";
import { makeChecking } from "./editor-checking.js";
import { makeFind } from "./editor-find.js";
import { makeGrid } from "./editor-grid.js";
import { makeHistory } from "./editor-history.js";
import { makeKeeper } from "./editor-keeping.js";
import * as model from "./editor-model.js";
import { makePredictions } from "./editor-predictions.js";
import { makeProof } from "./editor-proof.js";
import { makeSaving } from "./editor-saving.js";
import { makeScoring } from "./editor-scoring.js";
import { makeTemplate } from "./editor-template.js";
import { by, element, read, send } from "./site.js";

const id = by("editor").dataset.draft;
let state = null;
const now = () => state;
const text = () => model.toText(state);

/* ---- history ---- */

const become = (next, keep = true) => {
  state = next;
  if (keep) keeper.keep(text());
  draw();
};
const history = makeHistory(id, { state: now, become, textOf: text });
const change = (next, key = "") => { if (next !== state) history.record(next, key); };

/* ---- messages ---- */

const notice = (words, kind = "", action = null) => {
  const made = element("p", `notice ${kind}`);
  made.append(words, " ");
  const button = (label, act) => {
    const one = element("button", "", label);
    one.type = "button";
    one.addEventListener("click", () => { made.remove(); act?.(); });
    made.append(one, " ");
  };
  if (action) button(action.words, action.act);
  button("Close");
  by("notices").replaceChildren(made);
};
const textOf = (document) => model.toText(model.fromDocument(document));
const keeper = makeKeeper(id, {
  tell: (kind, words) => { by("kept").className = `kept ${kind}`; by("kept").textContent = words; },
  other: (words, label, document) =>
    notice(words, "", { words: label, act: () => { change(model.fromDocument(document)); notice("Undo (Ctrl+Z) brings the version before back."); } }),
  adopt: (document) => { if (textOf(document) !== text()) history.adopt(model.fromDocument(document)); },
  textOf,
});

/* A pasted table, parsed on the server. */
const readTable = async (given) => {
  try {
    const said = await read(await send("/editor/table.json", { json: { text: given } }));
    const table = model.fromDocument(said.document);
    delete table.meta.name;  // that of a file which is none
    if (/^\s*"?#\s*name\s*:/im.test(given)) table.meta.name = said.document.meta.name;
    change(mergeTable(state, table));
    grid.go(1, 2);
    notice(`${said.notes.join(" ")} Undo (Ctrl+Z) takes it back.`, "good");
  } catch (error) {
    notice(error instanceof TypeError ? "The table was not read: the server does not answer." : error.message, "bad");
  }
};

/* ---- the parts ---- */

const grid = makeGrid(by("grid"), {
  state: now,
  change,
  drop: history.drop,
  fail: (words) => notice(words, "bad"),
  moved: (here) => {
    const words = model.sentenceOf(state.items[here.item].rows[here.sentence]);
    by("sentence").textContent = words;
    by("sentence").title = words;
    by("try-sentence").href = `/sentence?${new URLSearchParams({ text: words })}`;
    by("try-sentence").hidden = !words;
  },
  readTable,
});
const predictions = makePredictions(by("predictions"), { state: now, change, here: grid.here });
const isNew = () => !history.canUndo() && !state.meta.name;
const checking = makeChecking({ state: now, textOf: text, predictions, grid, isNew });
const saving = makeSaving(id, { state: now, textOf: text, finish: grid.finish, busy: grid.busy, keeper, notice });
const find = makeFind({ state: now, change, grid });
makeTemplate({ state: now, change, grid, notice });
makeProof({ state: now, grid });
const scoring = makeScoring(id, {
  flush: async () => {
    if (!grid.finish()) throw new Error("Correct the marked cell first.");
    await keeper.settle();
  },
  marks: grid.setMarks,
  held: predictions.setHeld,
  current: now,
});

const draw = () => {
  grid.draw();
  predictions.draw();
  meta();
  scoring.redraw();
  by("undo").disabled = !history.canUndo();
  by("redo").disabled = !history.canRedo();
  document.title = `${state.meta.name || "New suite"} – wug`;
  checking.soon();
};

/* ---- meta ---- */

const FIELDS = [...document.querySelectorAll("[data-meta]")];
const METRICS = [...by("metric").querySelectorAll("input")];
const asText = (value) => (Array.isArray(value) ? value.join(", ") : typeof value === "string" ? value : value == null ? "" : JSON.stringify(value));

const meta = () => {
  for (const field of FIELDS) {
    const words = asText(state.meta[field.dataset.meta]);
    // A list is separated by commas; while it is edited, its text is kept.
    if (field.value !== words && !(field.dataset.meta === "tags" && document.activeElement === field)) field.value = words;
  }
  const given = state.meta.metric ?? "sum";
  const names = given === "all" ? METRICS.map((box) => box.value) : [given].flat();
  for (const box of METRICS) box.checked = names.includes(box.value);
  const known = ["name", "metric", ...FIELDS.map((field) => field.dataset.meta)];
  const rest = Object.keys(state.meta).filter((key) => !known.includes(key)).concat(Object.keys(state.extra));
  by("other-fields").textContent = rest.length ? `Also kept in the file: ${rest.join(", ")}.` : "";
};
for (const field of FIELDS) {
  const key = field.dataset.meta;
  field.addEventListener("input", () => {
    const value = key === "tags" ? field.value.split(",").map((tag) => tag.trim()).filter(Boolean) : field.value;
    change(model.setMeta(state, key, value), `meta ${key}`);
  });
}
by("metric").addEventListener("change", () => {
  const names = METRICS.filter((box) => box.checked).map((box) => box.value);
  if (!names.length) names.push("sum");
  change(model.setMeta(state, "metric", names.length === 1 ? names[0] : names));
});

/* ---- buttons and keys ---- */

for (const button of document.querySelectorAll("[data-act]")) {
  // The grid keeps the focus for the next key.
  button.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse") event.preventDefault(); });
  button.addEventListener("click", () => grid.act(button.dataset.act, ...(button.dataset.by ? [Number(button.dataset.by)] : [])));
}
by("undo").addEventListener("click", history.undo);
by("redo").addEventListener("click", history.redo);
const addComparison = (text, least) => {
  const conditions = model.conditionsOf(state).map((name) => name.trim());
  if (conditions.length < least) return notice(`This takes ${least} conditions, and the suite has ${conditions.length}.`, "bad");
  change(model.addPrediction(state, text(String(state.regions.length), conditions)));
  return predictions.focusBuilder(state.predictions.length - 1);
};
by("add-comparison").addEventListener("click", () => addComparison((region, [first, second]) => simpleText({ region, first, sign: "<", second }), 2));
by("add-interaction").addEventListener("click", () => addComparison(interactionText, 4));
by("add-prediction").addEventListener("click", () => { change(model.addPrediction(state)); predictions.focus(state.predictions.length - 1); });
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || !state || document.querySelector("dialog[open]")) return;
  const key = event.key.toLowerCase();
  if ((key === "z" || key === "y") && grid.busy()) return;
  if (key === "z") (event.shiftKey ? history.redo : history.undo)();
  else if (key === "y") history.redo();
  else if (key === "s") saving.save();
  else if (key === "f" || key === "h") find.open();
  else return;
  event.preventDefault();
});

// Only if neither the browser nor the server has it.
addEventListener("beforeunload", (event) => { if (!keeper.isSafe()) event.preventDefault(); });

/* ---- start ---- */

const draft = await keeper.load();
if (draft) {
  state = model.fromDocument(draft.document);
  history.restore();
  draw();
  by("origin").textContent = draft.origin ? `From ${draft.origin}` : "";
  if (!matchMedia("(pointer: coarse)").matches) (state.meta.name ? grid.focus() : by("meta-name").focus());
  scoring.restore();
  by("editor").dataset.ready = "";
} else {
  by("kept").textContent = "";
  notice("There is no such suite, neither on the server nor in this browser.", "bad", { words: "Other suites", act: () => { location.href = "/editor"; } });
}
