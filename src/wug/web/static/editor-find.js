/* Find and replace in the sentences: the browser's search sees only the rendered rows. */
import { FIRST } from "./editor-acts.js";
import * as model from "./editor-model.js";
import { by } from "./site.js";

const pattern = (text, { word, exact }) => {
  const plain = text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
  return new RegExp(word ? `(?<![\\p{L}\\p{N}_])${plain}(?![\\p{L}\\p{N}_])` : plain, exact ? "gu" : "giu");
};

/* All matches of a text, from top to bottom. */
const matchesOf = (state, text, how) => {
  if (!text) return [];
  const sought = pattern(text, how), found = [];
  model.rowsOf(state).forEach(({ item, row }, index) => {
    state.items[item].rows[row].cells.forEach((cell, c) => {
      for (const { index: start, 0: { length } } of cell.matchAll(sought)) found.push({ row: index + 1, column: c + FIRST, item, sentence: row, region: c, start, length });
    });
  });
  return found;
};

/* The suite with some matches replaced; those in one cell are given from left to right. */
export const replaced = (state, matches, text) => {
  let changed = state;
  for (const { item, sentence, region, start, length } of [...matches].reverse()) {
    const cell = changed.items[item].rows[sentence].cells[region];
    changed = model.setCell(changed, item, sentence, region, cell.slice(0, start) + text + cell.slice(start + length));
  }
  return changed;
};

export const makeFind = ({ state, change, grid }) => {
  const bar = by("find-bar"), field = by("find-text"), other = by("replace-text");
  let matches = [], now = -1, of = null;

  const how = () => ({ word: by("find-word").checked, exact: by("find-case").checked });
  const say = (text) => { by("found").textContent = text; };
  const look = () => {
    const key = [field.value, how().word, how().exact].join("\0");
    if (of?.state === state() && of.key === key) return;
    const before = matches[now];
    matches = matchesOf(state(), field.value, how());
    of = { state: state(), key };
    now = before ? matches.findIndex((one) => one.row > before.row || (one.row === before.row && (one.column > before.column || (one.column === before.column && one.start >= before.start)))) : -1;
  };
  const tell = () => say(!field.value ? "" : !matches.length ? "nothing found" : now < 0 ? `${matches.length} found` : `${now + 1} of ${matches.length}`);

  const go = (by_) => {
    look();
    if (!matches.length) { tell(); return; }
    if (now < 0) {
      const here = grid.here();
      const next = matches.findIndex((one) => one.row > here.row || (one.row === here.row && one.column >= here.column));
      now = by_ > 0 ? Math.max(next, 0) : (next < 0 ? matches.length : next) - 1;
    } else now += by_;
    now = (now + matches.length) % matches.length;
    grid.look(matches[now].row, matches[now].column);
    tell();
  };
  const one = () => {
    look();
    if (now < 0) { go(1); return; }
    const at = matches[now];
    change(replaced(state(), [at], other.value));
    look();
    // Continue after the replacement, which may contain the text.
    now = matches.findIndex((next) => next.row > at.row || (next.row === at.row && (next.column > at.column || (next.column === at.column && next.start >= at.start + other.value.length))));
    if (now < 0 && matches.length) now = 0;
    if (now >= 0) grid.look(matches[now].row, matches[now].column);
    tell();
  };
  const all = () => {
    look();
    const count = matches.length, cells = new Set(matches.map((match) => `${match.row}:${match.column}`)).size;
    if (!count) { tell(); return; }
    change(replaced(state(), matches, other.value));
    now = -1;
    look();
    say(`${count} replaced in ${cells} ${cells === 1 ? "cell" : "cells"}; Undo restores it`);
  };

  const open = () => {
    if (!grid.finish()) return;
    bar.hidden = false;
    by("find").setAttribute("aria-expanded", "true");
    field.focus();
    field.select();
    look();
    tell();
  };
  const close = () => {
    bar.hidden = true;
    by("find").setAttribute("aria-expanded", "false");
    grid.focus();
  };

  bar.addEventListener("submit", (event) => { event.preventDefault(); go(1); });
  bar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { event.preventDefault(); close(); }
    else if (event.key === "Enter" && event.shiftKey) { event.preventDefault(); go(-1); }
    else if (event.key === "Enter" && event.target === other) { event.preventDefault(); one(); }
  });
  bar.addEventListener("input", (event) => { if (event.target !== other) { now = -1; look(); tell(); } });
  by("find").addEventListener("click", () => (bar.hidden ? open() : close()));
  by("find-before").addEventListener("click", () => go(-1));
  by("replace-one").addEventListener("click", one);
  by("replace-all").addEventListener("click", all);
  by("find-close").addEventListener("click", close);
  return { open };
};
