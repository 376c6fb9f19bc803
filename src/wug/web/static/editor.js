/* The suite editor: one state, its history, and the parts of the page that show and change it. */
import { makeGrid } from "./editor-grid.js";
import { makeKeeper } from "./editor-keeping.js";
import * as model from "./editor-model.js";
import { makePredictions } from "./editor-predictions.js";
import { makeScoring } from "./editor-scoring.js";

const CHECK = 250, TOGETHER = 1200, PAST = 500;
const by = (name) => document.getElementById(name);
const id = by("editor").dataset.draft;
let state = null, past = [], future = [], last = { key: "", time: 0 }, checking = null, asked = 0;

/* ---- history ---- */

const change = (next, key = "") => {
  if (next === state) return;
  const now = Date.now();
  // Letters that are written one after the other are undone together; those of a cell always.
  if (!(key && key === last.key && (key.startsWith("cell ") || now - last.time < TOGETHER))) past.push(state);
  if (past.length > PAST) past.shift();
  last = { key, time: now };
  future = [];
  become(next);
};
const become = (next) => {
  state = next;
  keeper.keep(model.toDocument(state));
  draw();
};
const drop = (key) => {
  if (key !== last.key || !past.length) return;
  last.key = "";
  become(past.pop());
};
const undo = () => {
  if (!past.length) return;
  future.push(state);
  last.key = "";
  become(past.pop());
};
const redo = () => {
  if (!future.length) return;
  past.push(state);
  last.key = "";
  become(future.pop());
};

/* ---- words for the user ---- */

const notice = (text, kind = "", action = null) => {
  const made = document.createElement("p");
  made.className = `notice ${kind}`;
  made.append(text, " ");
  const button = (words, act) => {
    const one = document.createElement("button");
    one.type = "button";
    one.textContent = words;
    one.addEventListener("click", () => { made.remove(); act?.(); });
    made.append(one, " ");
  };
  if (action) button(action.words, action.act);
  button("Close");
  by("notices").replaceChildren(made);
};
const other = (text, words, document) =>
  notice(text, "", { words, act: () => { change(model.fromDocument(document)); notice("Undo (Ctrl+Z) brings the version before back."); } });
const keeper = makeKeeper(id, {
  tell: (kind, text) => { by("kept").className = `kept ${kind}`; by("kept").textContent = text; },
  other,
  adopt: (document) => {
    if (JSON.stringify(document) === JSON.stringify(model.toDocument(state))) return;
    past.push(state);
    state = model.fromDocument(document);
    draw();
  },
});

/* ---- drawing ---- */

const grid = makeGrid(by("grid"), {
  state: () => state,
  change,
  drop,
  fail: (text) => notice(text, "bad"),
  moved: (here) => {
    const row = state.items[here.item].rows[here.sentence];
    by("sentence").textContent = row.cells.map((text) => text.trim()).filter(Boolean).join(" ");
  },
});
const predictions = makePredictions(by("predictions"), { state: () => state, change, here: grid.here });
const scoring = makeScoring(id, {
  flush: async () => {
    if (!grid.finish()) throw new Error("A cell has to be mended first.");
    await keeper.settle();
  },
  marks: grid.setMarks,
  held: predictions.setHeld,
  current: () => state,
});

const draw = () => {
  grid.draw();
  predictions.draw();
  meta();
  scoring.redraw();
  by("undo").disabled = !past.length;
  by("redo").disabled = !future.length;
  document.title = `${state.meta.name || "New suite"} – wug`;
  clearTimeout(checking);
  checking = setTimeout(check, CHECK);
};

/* ---- meta ---- */

const FIELDS = [...document.querySelectorAll("[data-meta]")];
const METRICS = [...by("metric").querySelectorAll("input")];
const asText = (value) => (Array.isArray(value) ? value.join(", ") : typeof value === "string" ? value : value == null ? "" : JSON.stringify(value));

const meta = () => {
  for (const field of FIELDS) {
    const text = asText(state.meta[field.dataset.meta]);
    // A list is written with commas: while it is being written, it stands as it is written.
    if (field.value !== text && !(field.dataset.meta === "tags" && document.activeElement === field)) field.value = text;
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

/* ---- checking ---- */

const check = async () => {
  const mine = (asked += 1);
  const was = state;
  try {
    const answer = await wug.send("/editor/check.json", {
      json: { document: model.toDocument(was), formulas: was.predictions.map(({ text }) => text) },
    });
    const said = await answer.json();
    if (mine !== asked) return;
    if (!answer.ok) throw new Error(said.error);
    if (was.predictions.length === state.predictions.length) predictions.setSaid(said.predictions);
    problems(said.problems);
  } catch (error) {
    if (mine !== asked) return;
    by("verdict").textContent = error instanceof TypeError ? "Not checked: the server does not answer." : error.message;
    if (error instanceof TypeError) checking = setTimeout(check, 3000);
  }
};

const problems = (found) => {
  const errors = found.filter(({ level }) => level === "error").length;
  const odd = found.length - errors;
  const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
  by("verdict").className = `verdict ${errors ? "bad" : odd ? "odd" : "good"}`;
  by("verdict").textContent = errors
    ? `Not ready yet: ${count(errors, "thing")} to mend.`
    : odd ? `Ready, with ${count(odd, "thing")} to look at.` : "Ready: nothing to mend.";
  by("problems").replaceChildren(...found.map(problem));
  grid.setFaults(found.flatMap(({ level, places }) => places.map((place) => ({ ...place, level: level === "error" ? "fault" : "odd" }))));
};

const problem = ({ level, message, count, places }) => {
  const made = document.createElement("li");
  made.className = level;
  const word = document.createElement("b");
  word.textContent = level === "error" ? "To mend" : "Look at";
  made.append(word, " ");
  const where = document.createElement("span");
  where.textContent = `${message} `;
  made.append(where);
  places.slice(0, 3).forEach((place) => {
    const goes = [place.item, place.region, place.prediction, place.field].some((one) => one !== null);
    const text = place.place || "there";
    if (!goes) { if (place.place) made.append(`(${text}) `); return; }
    const link = document.createElement("button");
    link.type = "button";
    link.className = "link";
    link.textContent = text;
    link.addEventListener("click", () => goTo(place));
    made.append(link, " ");
  });
  if (count > 3) made.append(`and ${count - 3} more`);
  return made;
};

const goTo = (place) => {
  if (place.prediction !== null) predictions.focus(place.prediction);
  else if (place.field !== null) {
    const field = by(`meta-${place.field}`) ?? by(place.field)?.querySelector("input") ?? by("meta-name");
    field.closest("details")?.setAttribute("open", "");
    field.focus();
  } else grid.goTo(place);
};

/* ---- saving ---- */

const dialog = by("save-dialog");
const slug = () => (String(state.meta.name ?? "").normalize("NFC").replace(/[^\p{L}\p{N}_.+-]+/gu, "_").replace(/^[._]+|[._]+$/g, "").slice(0, 80) || "suite");
const openSave = () => {
  if (!by("save") || dialog.open) return;
  grid.finish();
  by("save-error").hidden = true;
  if (!by("save-name").value) by("save-name").value = `${slug()}.json`;
  dialog.showModal();
  by("save-name").select();
};
const save = async (overwrite) => {
  // With what is on the page, so that it can be saved even where the server has no room for drafts.
  const wanted = { folder: by("save-folder").value, name: by("save-name").value, overwrite, document: model.toDocument(state) };
  try {
    const answer = await wug.send(`/editor/${id}/save.json`, { json: wanted }).catch(() => { throw new Error("The server does not answer."); });
    const said = await answer.json();
    if (answer.status === 409 && !overwrite) {
      if (confirm(`There is a file already:\n${said.path}\nWrite over it?`)) await save(true);
      return;
    }
    if (!answer.ok) throw new Error(said.error);
    dialog.close();
    notice(`Saved as ${said.path}`, "good");
  } catch (error) {
    by("save-error").textContent = error.message;
    by("save-error").hidden = false;
  }
};
by("save")?.addEventListener("click", openSave);
dialog.addEventListener("submit", (event) => {
  if (event.submitter?.value !== "save") return;
  event.preventDefault();
  save(false);
});
for (const link of [by("download-json"), by("download-csv")]) {
  link.addEventListener("click", async (event) => {
    if (!grid.busy() && keeper.isKept()) { if (link.id === "download-json") return; }
    event.preventDefault();
    grid.finish();
    try { await keeper.settle(); } catch (error) { notice(error.message, "bad"); return; }
    // A table that cannot be written yet is words on this page, not a file with words in it.
    const answer = await fetch(link.href, { headers: { Accept: "application/json" } }).catch(() => null);
    if (!answer) { notice("The server does not answer.", "bad"); return; }
    if (!answer.ok) { notice((await answer.json()).error, "bad"); return; }
    const hidden = document.createElement("a");
    hidden.href = link.href;
    hidden.download = "";
    hidden.click();
  });
}

/* ---- buttons and keys ---- */

for (const button of document.querySelectorAll("[data-act]")) {
  // The grid keeps the focus, so that the next key is for the cell.
  button.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse") event.preventDefault(); });
  button.addEventListener("click", () => grid.act(button.dataset.act, ...(button.dataset.by ? [Number(button.dataset.by)] : [])));
}
by("undo").addEventListener("click", undo);
by("redo").addEventListener("click", redo);
by("add-prediction").addEventListener("click", () => { change(model.addPrediction(state)); predictions.focus(state.predictions.length - 1); });
addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || !state || dialog.open) return;
  const key = event.key.toLowerCase();
  if ((key === "z" || key === "y") && grid.busy()) return;
  if (key === "z") (event.shiftKey ? redo : undo)();
  else if (key === "y") redo();
  else if (key === "s") openSave();
  else return;
  event.preventDefault();
});

// Only where neither the browser nor the server has it.
addEventListener("beforeunload", (event) => { if (!keeper.isSafe()) event.preventDefault(); });

/* ---- beginning ---- */

const draft = await keeper.load();
if (draft) {
  state = model.fromDocument(draft.document);
  draw();
  if (draft.origin) by("sentence").title = `From ${draft.origin}`;
  if (!matchMedia("(pointer: coarse)").matches) (state.meta.name ? grid.focus() : by("meta-name").focus());
  scoring.restore();
  by("editor").dataset.ready = "";
} else {
  by("kept").textContent = "";
  notice("There is no such suite, neither on the server nor in this browser.", "bad", { words: "Other suites", act: () => { location.href = "/editor"; } });
}
