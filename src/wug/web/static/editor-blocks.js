/* Copying and pasting blocks of cells, and whole tables with named columns. */
import { addItem, addPrediction, addRegion, nextNumber, number, put, renameRegion, rowsOf, setCell } from "./editor-model.js";

/* A block of cells as spreadsheets put it on the clipboard: tabs and line ends, quotes around either. */
export const parseBlock = (text) => {
  const rows = [[]];
  let cell = "", quoted = false, i = 0;
  const end = () => { rows[rows.length - 1].push(cell.replace(/\s*[\r\n]+\s*/g, " ")); cell = ""; };
  while (i < text.length) {
    const ch = text[i];
    if (quoted) {
      if (ch === '"' && text[i + 1] === '"') { cell += '"'; i += 1; }
      else if (ch === '"') quoted = false;
      else cell += ch;
    } else if (ch === '"' && cell === "" && /^"(?:[^"]|"")*"(?:[\t\r\n]|$)/.test(text.slice(i))) quoted = true;
    else if (ch === "\t") end();
    else if (ch === "\n" || ch === "\r") {
      if (ch === "\r" && text[i + 1] === "\n") i += 1;
      end();
      rows.push([]);
    } else cell += ch;
    i += 1;
  }
  end();
  const last = rows[rows.length - 1];
  if (rows.length > 1 && last.length === 1 && last[0] === "") rows.pop();
  return rows;
};

export const blockText = (rows) =>
  rows.map((row) => row.map((cell) => (/[\t\r\n]|^"/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell)).join("\t")).join("\n");

const widened = (state, width) => {
  let wide = state;
  while (wide.regions.length < width) wide = addRegion(wide, wide.regions.length);
  return wide;
};

/* Paste a block at a row (0: region names) and a column (0: item, 1: condition). */
export const pasteBlock = (state, top, left, block) => {
  const width = Math.max(...block.map((line) => line.length));
  if (left < 2) return pasteTable(state, top, left, block, width);
  let changed = widened(state, left - 2 + width);
  block.forEach((line, k) => {
    const at = top + k;
    if (at === 0) {
      line.forEach((name, j) => { changed = renameRegion(changed, left - 2 + j, name.trim()); });
      return;
    }
    while (rowsOf(changed).length < at) changed = addItem(changed, changed.items.length);
    const { item, row } = rowsOf(changed)[at - 1];
    line.forEach((text, j) => { changed = setCell(changed, item, row, left - 2 + j, text.trim()); });
  });
  return changed;
};

/* Rows that say themselves which item and condition they are. An item that is not said is the one above; where only
 * conditions are given, one that comes again begins the next item. */
const pasteTable = (state, top, left, block, width) => {
  const lines = block.map((line) => line.map((text) => text.trim()));
  let changed = widened(state, Math.max(1, width - (2 - left)));
  const heading = top === 0 || (left === 0 ? /^item/i : /^condition/i).test(lines[0][0] ?? "");
  if (heading) {
    lines.shift().slice(2 - left).forEach((name, j) => { changed = renameRegion(changed, j, name); });
  }
  const met = new Set(), named = new Set();
  let current = top === 0 ? 0 : rowsOf(state)[top - 1]?.item ?? 0;
  let seen = new Set();
  let last = "";
  for (const line of lines) {
    const condition = line[1 - left] ?? "";
    if (!condition) continue;
    if (left === 0) {
      last = line[0] || last || String(state.items[current].number);
      current = changed.items.findIndex((item) => String(item.number) === String(number(last)));
      if (current < 0) {
        current = changed.items.length;
        changed = { ...changed, items: [...changed.items, { number: number(last), extra: {}, rows: [] }] };
      }
    } else {
      if (seen.has(condition)) { current += 1; seen = new Set(); }
      if (current === changed.items.length) changed = { ...changed, items: [...changed.items, { number: nextNumber(changed), extra: {}, rows: [] }] };
    }
    seen.add(condition);
    named.add(condition);
    met.add(current);
    changed = withRow(changed, current, condition, line.slice(2 - left));
  }
  return tidied(changed, met, named);
};

const withRow = (state, i, condition, texts) => {
  const item = state.items[i];
  let r = item.rows.findIndex((row) => row.condition.trim() === condition);
  let changed = state;
  if (r < 0) {
    r = item.rows.length;
    const row = { condition, extra: {}, cells: state.regions.map(() => ""), extras: state.regions.map(() => null) };
    changed = { ...state, items: put(state.items, i, { ...item, rows: [...item.rows, row] }) };
  }
  texts.forEach((text, c) => { changed = setCell(changed, i, r, c, text); });
  return changed;
};

/* Remove the empty rows of a new suite that a pasted table does not mention. */
const tidied = (state, met, named) => {
  const blank = (row) => row.cells.every((cell) => !cell.trim());
  const items = state.items
    .map((item) => ({ ...item, rows: item.rows.filter((row) => named.has(row.condition.trim()) || !blank(row)) }))
    .filter((item, i) => item.rows.length && (met.has(i) || !item.rows.every(blank)));
  return items.length ? { ...state, items } : state;
};

/* ---- tables with a header ---- */

const ITEM = /^(item|item_number|item_id)$/i, CONDITION = /^(condition|condition_name|cond)$/i;

/* Whether a text is a table that the reader of files should be asked about: lines that begin with #, or columns for
 * item and condition. */
export const isTable = (text) => {
  const first = text.replace(/^\uFEFF/, "").split(/[\r\n]+/).find((line) => line.trim() && !/^\s*"?#/.test(line));
  if (first === undefined) return false;
  return [/\t/, /,/, /;/].some((mark) => {
    const names = first.split(mark).map((name) => name.trim().replace(/^"(.*)"$/, "$1"));
    return names.length > 2 && names.some((name) => ITEM.test(name)) && names.some((name) => CONDITION.test(name));
  });
};

const isBlank = (state) => state.items.every((item) => item.rows.every((row) => row.cells.every((text) => !text.trim())));

/* The suite with a table put into it. One without a sentence becomes the table; else its rows are put where the item
 * and the condition are the same, its regions by their names where all are there, and in their order where not. */
export const mergeTable = (state, table) => {
  if (isBlank(state)) {
    const name = state.meta.name || table.meta.name || "";
    return {
      ...state,
      meta: { ...state.meta, ...table.meta, name },
      regions: table.regions,
      items: table.items,
      predictions: [...state.predictions.filter(({ text }) => text.trim()), ...table.predictions],
    };
  }
  const distinct = new Set(table.regions).size === table.regions.length;
  const named = distinct && table.regions.every((name) => state.regions.filter((other) => other === name).length === 1);
  let changed = named ? state : widened(state, table.regions.length);
  if (!named) table.regions.forEach((name, c) => { changed = renameRegion(changed, c, name); });
  const columns = table.regions.map((name, c) => (named ? state.regions.indexOf(name) : c));
  for (const item of table.items) {
    let i = changed.items.findIndex((one) => String(one.number) === String(item.number));
    if (i < 0) {
      i = changed.items.length;
      changed = { ...changed, items: [...changed.items, { number: item.number, extra: {}, rows: [] }] };
    }
    for (const row of item.rows) {
      const texts = columns.reduce((made, c, k) => { made[c] = row.cells[k]; return made; }, []);
      changed = withRow(changed, i, row.condition.trim(), texts);
    }
  }
  const known = new Set(changed.predictions.map(({ text }) => text));
  for (const { text } of table.predictions) if (!known.has(text)) changed = addPrediction(changed, text);
  return changed;
};
