/* The rows of the grid that are in view, and the active one; of all others only their height is there.
 *
 * All rows have the same height, and columns are as wide as the longest text of the whole suite needs (within bounds),
 * so that nothing moves while one scrolls. A row that is drawn already is touched only where its sentence changed.
 */
import { FIRST } from "./editor-acts.js";
import * as model from "./editor-model.js";
import { element } from "./site.js";

const BEYOND = 8;
/* Minimum and maximum width of a column in rem; longer text is clipped unless it is edited. */
const NARROW = 4.2, WIDE = 20, WIDE_ON_PHONES = 12, ITEM = 3.2;

export const makeRows = (table, { state, painted }) => {
  const sheet = table.parentElement;
  const columns = element("colgroup"), head = element("thead"), body = element("tbody");
  table.replaceChildren(columns, head, body);
  let heads = [], shown = new Map(), active = 1, built = -1, height = 0, marks = null, faults = new Map(), version = 0, whole = false;

  const rows = () => model.rowsOf(state());

  /* ---- sizes ---- */

  const pen = document.createElement("canvas").getContext("2d");
  let fonts = null, widths = [];
  const measured = new Map(), ofRow = new WeakMap();
  const wide = (text, font) => {
    const key = `${font}\0${text}`;
    if (!measured.has(key)) {
      if (measured.size > 50000) measured.clear();
      pen.font = fonts[font];
      measured.set(key, pen.measureText(text).width);
    }
    return measured.get(key);
  };
  const rowWidths = (row) => {
    if (!ofRow.has(row)) ofRow.set(row, [wide(row.condition, "condition"), ...row.cells.map((text) => wide(text, "cell"))]);
    return ofRow.get(row);
  };
  const fontOf = (where) => { const { fontWeight, fontSize, fontFamily } = getComputedStyle(where); return `${fontWeight} ${fontSize} ${fontFamily}`; };

  const size = () => {
    const first = body.querySelector("tr:not(.gap)");
    if (!first) return;
    fonts ??= { region: fontOf(heads[FIRST].querySelector(".text")), condition: fontOf(first.children[1]), cell: fontOf(first.children[FIRST]) };
    const now = state();
    const found = [0, ...now.regions.map((name) => wide(name, "region"))];
    for (const item of now.items) {
      for (const row of item.rows) rowWidths(row).forEach((one, c) => { if (one > found[c]) found[c] = one; });
    }
    const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const most = rem * (matchMedia("(max-width: 48rem)").matches ? WIDE_ON_PHONES : WIDE);
    const wanted = [ITEM * rem, ...found.map((one) => Math.round(Math.min(most, Math.max(NARROW * rem, one + 1.3 * rem))))];
    if (wanted.length === widths.length && wanted.every((one, c) => one === widths[c])) return;
    widths = wanted;
    columns.replaceChildren(...widths.map((one) => { const made = element("col"); made.style.width = `${one}px`; return made; }));
    table.style.width = `${widths.reduce((sum, one) => sum + one, 0)}px`;
  };
  const tall = () => {
    if (!height) height = body.querySelector("tr:not(.gap)")?.getBoundingClientRect().height || 30;
    return height;
  };
  const headTall = () => head.offsetHeight;

  /* ---- rows ---- */

  const cell = (tag, className, row, column) => {
    const made = element(tag, className);
    made.dataset.row = row;
    made.dataset.column = column;
    made.append(element("span", "text"));
    return made;
  };

  const buildHead = () => {
    const now = state();
    const line = element("tr");
    line.setAttribute("aria-rowindex", "1");
    heads = [element("th", "corner", "item"), element("th", "corner", "condition"), ...now.regions.map((_, c) => {
      const made = cell("th", "region", 0, c + FIRST);
      made.prepend(element("span", "number", String(c + 1)));
      return made;
    })];
    for (const one of heads) one.scope = "col";
    line.append(...heads);
    head.replaceChildren(line);
    body.replaceChildren();
    shown.clear();
    built = now.regions.length;
    widths = [];
    height = 0;
  };

  /* An empty row, cloned from the first one, which takes half the time. */
  let pattern = null;
  const build = (index) => {
    if (pattern?.children.length !== built + FIRST) {
      pattern = element("tr");
      const condition = cell("th", "condition", 0, 1);
      condition.scope = "row";
      pattern.append(element("td"), condition, ...state().regions.map((_, c) => cell("td", "", 0, c + FIRST)));
    }
    const line = pattern.cloneNode(true);
    line.setAttribute("aria-rowindex", String(index + 1));
    for (let column = 1; column < line.children.length; column += 1) line.children[column].dataset.row = index;
    return line;
  };

  /* An item's number is in the first of its rows. */
  const lead = (line, index, spot) => {
    const first = spot.row === 0, now = line.firstElementChild;
    if (now.dataset.row === String(index - spot.row) && now.classList.contains("item") === first) return;
    const made = first ? cell("th", "item", index, 0) : element("td", "item-rest");
    if (first) made.scope = "row";
    made.dataset.row = index - spot.row;
    made.dataset.column = 0;
    now.replaceWith(made);
  };

  const set = (where, text) => {
    const span = where.getElementsByClassName("text")[0];
    if (span.textContent === text) return;
    span.textContent = text;
    span.title = text.length > 24 ? text : "";
    const bare = text.trim();
    where.classList.toggle("stray", text !== bare && bare !== "");
  };
  const note = (where, text, kind = "", shade = "") => {
    let span = where.getElementsByClassName("mark")[0];
    if (!text) { span?.remove(); return; }
    if (!span) { span = element("span", "mark"); where.querySelector(".text").after(span); }
    span.textContent = text;
    span.title = kind === "fails" ? `predictions that fail: ${text.slice(2)}` : "";
    span.className = `mark ${kind} ${shade || ""}`.trim();
  };

  const fill = (line, index) => {
    const now = state(), spot = rows()[index - 1], item = now.items[spot.item], row = item.rows[spot.row];
    const last = spot.row === item.rows.length - 1;
    const drawn = line.drawn;
    if (drawn && drawn.row === row && drawn.number === item.number && drawn.place === spot.row && drawn.last === last && drawn.version === version) return;
    line.drawn = { row, number: item.number, place: spot.row, last, version };
    line.className = last ? "last" : "";
    lead(line, index, spot);
    const found = marks?.items[String(item.number)];
    const values = found?.conditions[row.condition.trim()];
    const same = values && values.length === row.cells.length && values.every((one, c) => one.content === row.cells[c].trim());
    if (spot.row === 0) {
      set(line.children[0], String(item.number));
      note(line.children[0], found?.verdict ?? "", found?.kind ?? "");
    }
    set(line.children[1], row.condition);
    row.cells.forEach((text, c) => {
      set(line.children[c + FIRST], text);
      note(line.children[c + FIRST], same ? values[c].text : "", "bits", same && values[c].shade);
    });
    [...line.children].forEach((one, column) => blame(one, faults.get(`${index}:${column}`)));
  };
  const blame = (where, level) => {
    where.classList.toggle("fault", level === "fault");
    where.classList.toggle("odd", level === "odd");
  };

  /* ---- virtual scrolling ---- */

  const wanted = (beyond) => {
    const count = rows().length;
    if (whole) return Array.from({ length: count }, (_, index) => index + 1);
    const first = Math.max(1, Math.floor(sheet.scrollTop / tall()) + 1 - beyond);
    const last = Math.min(count, Math.ceil((sheet.scrollTop + sheet.clientHeight) / tall()) + beyond);
    const found = new Set([Math.min(Math.max(active, 1), count)]);
    for (let index = first; index <= last; index += 1) found.add(index);
    return [...found].sort((a, b) => a - b);
  };

  const gap = (count) => {
    const made = element("tr", "gap");
    made.setAttribute("aria-hidden", "true");
    made.style.height = `${count * tall()}px`;
    return made;
  };

  /* The rendered rows: while they stay the same, only texts change, and layout is cheap. */
  let standing = "";

  const sync = (beyond = BEYOND) => {
    const now = wanted(beyond), count = rows().length, shape = `${now.join()} of ${count} ${tall()}`;
    if (shape !== standing || now.some((index) => !shown.has(index))) arrange(now, count);
    standing = shape;
    for (const index of now) fill(shown.get(index), index);
  };

  const arrange = (now, count) => {
    const kept = new Set(now);
    for (const old of body.querySelectorAll(".gap")) old.remove();
    for (const [index, line] of shown) if (!kept.has(index)) { line.remove(); shown.delete(index); }
    let next = body.firstElementChild, before = 0;
    // Existing rows are kept: one of them has the focus.
    for (const index of now) {
      if (index > before + 1) body.insertBefore(gap(index - before - 1), next);
      let line = shown.get(index);
      if (line === undefined) {
        line = build(index);
        shown.set(index, line);
        body.insertBefore(line, next);
      } else next = line.nextElementSibling;
      before = index;
    }
    if (before < count) body.append(gap(count - before));
  };

  const draw = () => {
    const now = state();
    if (built !== now.regions.length) buildHead();
    now.regions.forEach((name, c) => { set(heads[c + FIRST], name); blame(heads[c + FIRST], faults.get(`0:${c + FIRST}`)); });
    table.setAttribute("aria-rowcount", String(rows().length + 1));
    table.classList.toggle("marked", marks !== null);
    sync();
    size();
    if (!height) { tall(); sync(); }
  };

  const again = () => { version += 1; height = 0; if (state()) { draw(); painted(); } };

  /* Scroll as little as needed to show a row. */
  const scroll = (row) => {
    const top = (row - 1) * tall(), room = sheet.clientHeight - headTall(), from = sheet.scrollTop;
    if (top < from) sheet.scrollTop = top;
    else if (top + tall() > from + room) sheet.scrollTop = top + tall() - room;
  };

  /* Render rows outside the viewport after those inside. */
  const fillSoon = () => {
    filling ||= requestAnimationFrame(() => setTimeout(() => { filling = 0; if (state()) { sync(); painted(); } }));
  };

  let coming = 0, filling = 0;
  sheet.addEventListener("scroll", () => {
    if (!filling) coming ||= requestAnimationFrame(() => { coming = 0; if (state()) { sync(); painted(); } });
  }, { passive: true });
  new ResizeObserver(() => { if (built >= 0) { height = 0; widths = []; fonts = null; draw(); painted(); } }).observe(sheet);
  addEventListener("beforeprint", () => { whole = true; sync(); });
  addEventListener("afterprint", () => { whole = false; sync(); painted(); });

  return {
    draw,
    /* Whether the number of regions changed, so that every cell must be rendered again. */
    renewed: () => built !== state().regions.length,
    setActive: (row) => { active = row; if (row > 0 && !shown.has(row) && built === state().regions.length) sync(); },
    /* Scroll to the next active row; after a jump, render only what is in view. */
    approach: (row) => {
      if (row < 1 || built !== state().regions.length) return;
      const leap = !shown.has(row);
      active = row;
      scroll(row);
      sync(leap ? 0 : BEYOND);
      if (leap) fillSoon();
    },
    cellAt: (row, column) => (row === 0 ? heads[column] : shown.get(row)?.children[column]),
    each: function* () { yield [0, heads]; for (const [index, line] of shown) yield [index, line.children]; },
    /* A page of rows. */
    page: () => Math.max(1, Math.floor((sheet.clientHeight - headTall()) / tall()) - 1),
    setMarks: (given) => { marks = given; again(); },
    setFaults: (given) => {
      const same = given.size === faults.size && [...given].every(([place, level]) => faults.get(place) === level);
      faults = given;
      if (!same) { version += 1; draw(); painted(); }
    },
  };
};
