/* The grid: a row for each sentence, a column for each region; it is moved in and written to as in a spreadsheet.
 *
 * Row 0 holds the names of the regions, column 0 the item, column 1 the condition. One text field goes from cell to
 * cell with the selection: so input methods for any script work, and there is always something that has the focus.
 */
import { FIRST, makeActs } from "./editor-acts.js";
import { blockText, isTable, parseBlock, pasteBlock } from "./editor-blocks.js";
import * as model from "./editor-model.js";
import { makeRows } from "./editor-rows.js";

export const makeGrid = (table, { state, change, drop, fail, moved, readTable }) => {
  const field = document.createElement("textarea");
  field.className = "cell-field";
  field.rows = 1;
  field.spellcheck = false;
  field.autocapitalize = "off";
  field.autocomplete = "off";
  field.setAttribute("aria-describedby", "leave-grid");
  let at = { row: 1, column: FIRST }, corner = at, mode = "choose", home = null, session = 0, leaving = false, named = false;
  let pointer = matchMedia("(pointer: coarse)").matches ? "touch" : "mouse";

  const rows = () => model.rowsOf(state());
  const height = () => rows().length + 1;
  const width = () => state().regions.length + FIRST;

  /* ---- content of cells ---- */

  const textAt = ({ row, column }) => {
    const now = state();
    if (row === 0) return column < FIRST ? "" : now.regions[column - FIRST];
    const place = rows()[row - 1];
    const item = now.items[place.item];
    if (column === 0) return String(item.number);
    if (column === 1) return item.rows[place.row].condition;
    return item.rows[place.row].cells[column - FIRST];
  };

  const write = (now, { row, column }, text) => {
    if (row === 0) return column < FIRST ? now : model.renameRegion(now, column - FIRST, text.trim());
    const place = model.rowsOf(now)[row - 1];
    if (column === 0) return model.setItemNumber(now, place.item, text);
    if (column === 1) return model.renameCondition(now, now.items[place.item].rows[place.row].condition, text);
    return model.setCell(now, place.item, place.row, column - FIRST, text.replace(/\s*[\r\n\t]+\s*/g, " "));
  };

  const nameOf = ({ row, column }) => {
    const now = state();
    const region = column >= FIRST ? `region ${column - FIRST + 1} ${now.regions[column - FIRST] || ""}`.trim() : "";
    if (row === 0) return `name of region ${column - FIRST + 1}`;
    const place = rows()[row - 1];
    const item = now.items[place.item];
    if (column === 0) return `number of item ${item.number}`;
    const condition = item.rows[place.row].condition;
    if (column === 1) return `condition ${condition}, item ${item.number}`;
    return `item ${item.number}, ${condition}, ${region}`;
  };

  /* ---- drawing ---- */

  const lines = makeRows(table, { state, painted: () => paint() });

  const draw = () => {
    const focused = document.activeElement === field;
    if (lines.renewed()) field.remove();
    at = within(at);
    corner = within(corner);
    lines.setActive(at.row);
    lines.draw();
    place();
    if (focused) field.focus({ preventScroll: true });
  };

  const within = ({ row, column }) => {
    const inside = { row: Math.min(Math.max(row, 0), height() - 1), column: Math.min(Math.max(column, 0), width() - 1) };
    if (inside.row === 0) inside.column = Math.max(inside.column, FIRST);
    // An item's number is one cell for all of its sentences.
    if (inside.column === 0) inside.row -= rows()[inside.row - 1].row;
    return inside;
  };

  /* Highlight the active and the selected cells that are in view. */
  const paint = () => {
    const [top, bottom, left, right] = bounds();
    for (const [row, cells] of lines.each()) {
      for (let column = 0; column < cells.length; column += 1) {
        const chosen = row >= top && row <= bottom && column >= left && column <= right;
        cells[column].classList.toggle("chosen", chosen);
        cells[column].classList.toggle("active", row === at.row && column === at.column);
      }
    }
  };

  /* The field in the active cell. */
  const place = () => {
    lines.setActive(at.row);
    paint();
    const active = lines.cellAt(at.row, at.column);
    if (field.parentElement !== active) active.append(field);
    if (mode === "choose") {
      field.value = "";
      field.inputMode = pointer === "mouse" ? "text" : "none";  // no keyboard over the screen before it is wanted
      field.classList.remove("open");
      field.setAttribute("aria-label", `${nameOf(at)}: ${textAt(at).trim() || "empty"}`);
    }
    moved?.(here());
  };

  const bounds = () => [
    Math.min(at.row, corner.row), Math.max(at.row, corner.row),
    Math.min(at.column, corner.column), Math.max(at.column, corner.column),
  ];

  /* The active cell in view, with the focus in it; where it is known beforehand, the page is laid out but once. */
  const reach = (focused = true) => {
    // What has the focus is taken away while layout still stands: later that would ask for another.
    if (focused && field.parentElement !== lines.cellAt(at.row, at.column)) field.remove();
    lines.approach(at.row);
    place();
    if (focused) field.focus({ preventScroll: true });
    const frame = table.parentElement, cell = lines.cellAt(at.row, at.column);
    const where = cell.getBoundingClientRect(), around = frame.getBoundingClientRect();
    const fixed = at.column >= FIRST ? [...table.querySelectorAll("thead .corner")].reduce((sum, one) => sum + (getComputedStyle(one).position === "sticky" ? one.offsetWidth : 0), 0) : 0;
    if (at.column >= FIRST && where.left < around.left + fixed) frame.scrollLeft -= around.left + fixed - where.left + 4;
    else if (where.right > around.right) frame.scrollLeft += where.right - around.right + 4;
    if (where.top < 0 || where.bottom > innerHeight) cell.scrollIntoView({ block: "nearest", inline: "nearest" });
  };

  /* ---- moving ---- */

  const go = (row, column, start = null) => {
    if (mode !== "choose" && !finish()) return;
    at = within({ row, column });
    corner = at;
    home = start;
    named = false;
    reach();
  };

  const step = (down, right, column = at.column) => {
    const tall = at.column === 0 && down === 1 ? state().items[rows()[at.row - 1].item].rows.length : 1;
    go(at.row + down * tall, column + right);
  };

  /* The next cell to the right, or the first of the next row; false at the end of the grid. Enter goes back to the
   * column where a row of Tabs began. */
  const tab = (by) => {
    let { row, column } = at;
    column += by;
    if (column >= width()) { row += 1; column = FIRST; }
    if (column < FIRST && (by < 0 || row === 0)) { row -= 1; column = width() - 1; }
    if (row < 0 || row >= height()) return false;
    const last = at.row === 0 && row === 1;
    go(row, column, row === at.row ? home ?? at.column : column);
    named = last;
    return true;
  };

  /* ---- writing ---- */

  const open = (text, how) => {
    mode = how;
    session += 1;
    field.value = text;
    field.classList.add("open");
    field.setAttribute("aria-label", nameOf(at));
  };

  /* Every keystroke is stored, so that a crash loses nothing; all of them are one undo step. */
  const key = () => `cell ${session}`;
  const written = () => {
    if (at.row > 0 && at.column >= FIRST) change(write(state(), at, field.value), key());
  };

  const finish = () => {
    if (mode === "choose") return true;
    const text = field.value;
    mode = "choose";
    try {
      if (text !== textAt(at)) change(write(state(), at, text), key());
      return true;
    } catch (error) {
      fail(error.message);
      return false;
    } finally {
      place();
    }
  };

  const cancel = () => { mode = "choose"; drop(key()); place(); };

  const clear = () => {
    const [top, bottom, left, right] = bounds();
    let now = state();
    for (let row = top; row <= bottom; row += 1) {
      for (let column = Math.max(left, FIRST); column <= right; column += 1) now = write(now, { row, column }, "");
    }
    if (now !== state()) change(now);
  };

  const chosen = () => {
    const [top, bottom, left, right] = bounds();
    const block = [];
    for (let row = top; row <= bottom; row += 1) {
      const line = [];
      for (let column = left; column <= right; column += 1) {
        line.push(row === 0 && column < FIRST ? ["item", "condition"][column] : textAt({ row, column }));
      }
      block.push(line);
    }
    return block;
  };

  const paste = (text) => {
    // A table with a header is read like a file.
    if (isTable(text)) { readTable(text); return; }
    const block = parseBlock(text);
    const [top, bottom, left, right] = bounds();
    let grown = block;
    if (block.length === 1 && block[0].length === 1) {
      grown = Array.from({ length: bottom - top + 1 }, () => Array(right - left + 1).fill(block[0][0]));
      if (left < FIRST) { try { change(write(state(), at, block[0][0])); } catch (error) { fail(error.message); } return; }
    }
    change(pasteBlock(state(), top, left, grown));
    at = within({ row: top, column: left });
    corner = within({ row: top + grown.length - 1, column: left + Math.max(...grown.map((line) => line.length)) - 1 });
    place();
  };

  const fillDown = () => {
    const [top, bottom, left, right] = bounds();
    const from = top === bottom ? top - 1 : top;
    if (from < 1) return;
    let now = state();
    for (let row = from + 1; row <= bottom; row += 1) {
      for (let column = Math.max(left, FIRST); column <= right; column += 1) now = write(now, { row, column }, textAt({ row: from, column }));
    }
    if (now !== state()) change(now);
  };

  /* ---- toolbar ---- */

  const here = () => {
    const spot = rows()[Math.max(at.row, 1) - 1];
    const item = state().items[spot.item];
    return { ...at, item: spot.item, sentence: spot.row, condition: item.rows[spot.row].condition, region: Math.max(at.column - FIRST, 0) };
  };

  const rowOf = (item, sentence) => rows().findIndex((one) => one.item === item && one.row === sentence) + 1;

  const acts = makeActs({ state, change, here, rowOf, width, go, spot: () => ({ ...at, named }) });
  const act = (name, ...given) => {
    if (!finish()) return;
    try { acts[name](...given); } catch (error) { fail(error.message); }
  };

  /* ---- keys ---- */

  const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

  const arrow = (event) => {
    const [down, right] = ARROWS[event.key];
    if (event.altKey) {
      if (mode === "edit") return false;
      if (right) act("moveRegion", right);
      else act(at.column === 1 ? "moveCondition" : "moveItem", down);
      return true;
    }
    if (mode === "edit" && right) return false;
    if (event.ctrlKey || event.metaKey) {
      if (mode !== "choose") return false;
      const far = { row: down ? (down > 0 ? height() - 1 : 0) : at.row, column: right ? (right > 0 ? width() - 1 : FIRST) : at.column };
      if (event.shiftKey) { corner = corner ?? at; spread(far.row, far.column); } else go(far.row, far.column);
      return true;
    }
    if (event.shiftKey && mode === "choose") { spread(at.row + down, at.column + right); return true; }
    step(down, right);
    return true;
  };

  /* Extend the selection to a cell. */
  const spread = (row, column) => {
    const anchor = corner;
    at = within({ row, column });
    corner = anchor;
    reach();
  };

  const press = (event) => {
    if (event.isComposing) return;
    const command = event.ctrlKey || event.metaKey, free = leaving;
    let taken = true;
    leaving = leaving && event.key === "Shift";
    if (event.key in ARROWS) taken = arrow(event);
    else if (event.key === "Enter" && command) act("addItem");
    else if (event.key === "Enter" && !event.altKey) step(event.shiftKey ? -1 : 1, 0, home ?? at.column);
    else if (event.key === "Tab" && !command && !event.altKey) {
      taken = !free && finish() && tab(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      // Tab then leaves the grid; a second Escape moves to the toolbar.
      if (mode !== "choose") cancel();
      else if (free) document.querySelector("[data-act]")?.focus();
      else leaving = true;
    } else if (event.key === "F2") { if (mode === "choose") open(textAt(at), "edit"); else mode = "edit"; }
    else if ((event.key === "Delete" || event.key === "Backspace") && mode === "choose") clear();
    else if (event.key === "PageDown" || event.key === "PageUp") step((event.key === "PageDown" ? 1 : -1) * lines.page(), 0);
    else if (event.key === "Home" && mode === "choose") go(command ? 1 : at.row, FIRST);
    else if (event.key === "End" && mode === "choose") go(command ? height() - 1 : at.row, width() - 1);
    else if (event.key.toLowerCase() === "d" && command && mode === "choose") fillDown();
    else if (event.key.toLowerCase() === "a" && command && mode === "choose") { corner = { row: height() - 1, column: width() - 1 }; at = { row: 1, column: FIRST }; place(); field.focus({ preventScroll: true }); }
    else if (event.altKey && event.key.toLowerCase() === "c") act("addCondition");
    else if (event.altKey && event.key.toLowerCase() === "r") act("addRegion");
    else taken = false;
    if (taken) event.preventDefault();
  };

  field.addEventListener("keydown", press);
  field.addEventListener("input", () => {
    if (mode === "choose") open(field.value, "type");
    written();
  });
  field.addEventListener("compositionstart", () => { if (mode === "choose") open("", "type"); });
  field.addEventListener("blur", () => { leaving = false; if (mode !== "choose") finish(); });
  field.addEventListener("copy", (event) => {
    if (mode !== "choose") return;
    event.clipboardData.setData("text/plain", blockText(chosen()));
    event.preventDefault();
  });
  field.addEventListener("cut", (event) => {
    if (mode !== "choose") return;
    event.clipboardData.setData("text/plain", blockText(chosen()));
    event.preventDefault();
    clear();
  });
  field.addEventListener("paste", (event) => {
    const text = event.clipboardData.getData("text/plain");
    if (mode !== "choose" && !/[\t\r\n]/.test(text.replace(/[\r\n]+$/, ""))) return;
    event.preventDefault();
    if (mode !== "choose") cancel();
    paste(text);
  });

  /* ---- the pointer ---- */

  let dragging = false;
  const placeOf = (event) => {
    const found = event.target.closest("[data-row]");
    return found && table.contains(found) ? { row: Number(found.dataset.row), column: Number(found.dataset.column) } : null;
  };
  table.addEventListener("pointerdown", (event) => {
    pointer = event.pointerType;
    const to = placeOf(event);
    // A touch may be the beginning of a scroll.
    if (!to || event.button !== 0 || pointer !== "mouse" || (event.target === field && mode !== "choose")) return;
    const same = to.row === at.row && to.column === at.column && document.activeElement === field;
    event.preventDefault();
    if (event.shiftKey) spread(to.row, to.column);
    else {
      go(to.row, to.column);
      if (same) edit();
      else dragging = true;
    }
  });
  table.addEventListener("click", (event) => {
    const to = placeOf(event);
    if (!to || pointer === "mouse" || (event.target === field && mode !== "choose")) return;
    // A touch has no other gesture to start editing.
    go(to.row, to.column);
    edit();
  });
  table.addEventListener("pointermove", (event) => {
    if (!dragging) return;
    const under = document.elementFromPoint(event.clientX, event.clientY)?.closest?.("[data-row]");
    if (!under || !table.contains(under)) return;
    const row = Number(under.dataset.row), column = Number(under.dataset.column);
    if (row !== at.row || column !== at.column) spread(row, column);
  });
  addEventListener("pointerup", () => { dragging = false; });
  table.addEventListener("dblclick", (event) => { if (placeOf(event) && mode === "choose") edit(); });

  const edit = () => {
    if (pointer !== "mouse") field.blur();
    field.inputMode = "text";
    open(textAt(at), "edit");
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
  };

  return {
    draw,
    act,
    go: (row, column) => go(row, column),
    goTo: ({ item, row, region }) => go(item === null ? 0 : rowOf(item, row ?? 0), region === null ? (row === null ? 0 : 1) : region + FIRST),
    here,
    focus: () => { field.focus({ preventScroll: true }); },
    finish,
    busy: () => mode !== "choose",
    /* Select and show a cell without moving the focus. */
    look: (row, column) => {
      if (!finish()) return;
      at = within({ row, column });
      corner = at;
      reach(false);
    },
    setMarks: lines.setMarks,
    setFaults: (places) => {
      const found = new Map();
      for (const { item, row, region, level } of places) {
        const column = region === null ? (row === null ? 0 : 1) : region + FIRST;
        if (item !== null) found.set(`${rowOf(item, row ?? 0)}:${column}`, level);
        else if (region !== null) found.set(`0:${column}`, level);
      }
      lines.setFaults(found);
    },
  };
};
