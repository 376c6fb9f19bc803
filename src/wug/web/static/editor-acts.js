/* Actions of buttons and keys on the item, condition or region of the active cell; the selection follows. */
import * as model from "./editor-model.js";

/* The first column of a region, after item and condition. */
export const FIRST = 2;

export const makeActs = ({ state, change, here, rowOf, width, go, spot }) => {
  const follow = (now, row, column) => { change(now); go(row(), column()); };
  return {
    addItem: () => { const { item } = here(); follow(model.addItem(state(), item + 1), () => rowOf(item + 1, 0), () => FIRST); },
    copyItem: () => { const { item } = here(); follow(model.copyItem(state(), item), () => rowOf(item + 1, 0), () => Math.max(spot().column, FIRST)); },
    removeItem: () => { const { item } = here(); follow(model.removeItem(state(), item), () => rowOf(Math.min(item, state().items.length - 1), 0), () => spot().column); },
    moveItem: (by) => {
      const { item, sentence } = here();
      const now = model.moveItem(state(), item, by);
      if (now !== state()) follow(now, () => rowOf(item + by, sentence), () => spot().column);
    },
    numberItems: () => change(model.numberItems(state())),
    addCondition: () => {
      const { item, sentence, condition } = here();
      follow(model.addCondition(state(), condition), () => rowOf(item, sentence + 1), () => 1);
    },
    removeCondition: () => {
      const { item, condition } = here();
      follow(model.removeCondition(state(), condition), () => rowOf(Math.min(item, state().items.length - 1), 0), () => spot().column);
    },
    moveCondition: (by) => {
      const { item, condition } = here();
      const now = model.moveCondition(state(), condition, by);
      follow(now, () => rowOf(item, now.items[item].rows.findIndex((row) => row.condition === condition)), () => spot().column);
    },
    addRegion: () => {
      // After Tab from the last name, the next region comes last.
      const { column, named } = spot();
      const to = named ? width() : column < FIRST ? FIRST : column + 1;
      follow(model.addRegion(state(), to - FIRST), () => 0, () => to);
    },
    removeRegion: () => { const { region } = here(); follow(model.removeRegion(state(), region), () => spot().row, () => Math.min(region + FIRST, width() - 1)); },
    moveRegion: (by) => {
      const { region } = here();
      const now = model.moveRegion(state(), region, by);
      if (now !== state()) follow(now, () => spot().row, () => region + by + FIRST);
    },
  };
};
