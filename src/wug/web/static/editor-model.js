/* A suite as a grid, and every change that can be made to it. Each change gives a new state; the old one stays
 * as it was, so that undo is going back to it.
 *
 * State: { meta, extra, regions: [name], predictions: [{text, raw}],
 *          items: [{number, extra, rows: [{condition, extra, cells: [text], extras: [object or null]}]}] }
 */

const without = (object, ...keys) => Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)));
const RELATIONS = { greaterthan: ">", lessthan: "<", equal: "=" };

/* The text of a prediction in any file format. */
const formulaOf = (raw) => {
  if (typeof raw === "string") return raw;
  if ("relation" in raw) {
    const region = raw.region_number;
    return `(${region};%${raw.l_operand}%) ${RELATIONS[raw.relation] ?? raw.relation} (${region};%${raw.r_operand}%)`;
  }
  return String(raw.formula ?? "");
};

const rawOf = ({ text, raw }) => {
  if (raw !== undefined && formulaOf(raw) === text) return raw;
  if (raw !== undefined && typeof raw === "object" && !("relation" in raw)) return { ...raw, formula: text };
  return text;
};

export const fromDocument = (document) => ({
  meta: document.meta ?? {},
  extra: without(document, "meta", "region_meta", "predictions", "items"),
  regions: Object.keys(document.region_meta ?? {}).sort((a, b) => a - b).map((key) => document.region_meta[key]),
  predictions: (document.predictions ?? []).map((raw) => ({ text: formulaOf(raw), raw })),
  items: (document.items ?? []).map((item) => ({
    number: item.item_number,
    extra: without(item, "item_number", "conditions"),
    rows: item.conditions.map((condition) => ({
      condition: condition.condition_name,
      extra: without(condition, "condition_name", "regions"),
      cells: condition.regions.map((region) => region.content),
      extras: condition.regions.map((region) => {
        const extra = without(region, "region_number", "content");
        return Object.keys(extra).length ? extra : null;
      }),
    })),
  })),
});

const itemDocument = (item) => ({
  item_number: item.number,
  conditions: item.rows.map((row) => ({
    condition_name: row.condition,
    regions: row.cells.map((content, index) => ({ region_number: index + 1, content, ...row.extras[index] })),
    ...row.extra,
  })),
  ...item.extra,
});

export const toDocument = (state) => ({
  meta: state.meta,
  region_meta: Object.fromEntries(state.regions.map((name, index) => [String(index + 1), name])),
  predictions: state.predictions.map(rawOf),
  items: state.items.map(itemDocument),
  ...state.extra,
});

const texts = new WeakMap();
const itemText = (item) => {
  if (!texts.has(item)) texts.set(item, JSON.stringify(itemDocument(item)));
  return texts.get(item);
};

/* The document as JSON; unchanged items are cached. */
export const toText = (state) => {
  const { items, ...rest } = toDocument({ ...state, items: [] });
  return `${JSON.stringify(rest).slice(0, -1)},"items":[${state.items.map(itemText).join(",")}]}`;
};

/* Caches what depends on the items only: a large suite has thousands of rows, and a keystroke changes one. */
const once = (make) => {
  const made = new WeakMap();
  return ({ items }) => {
    if (!made.has(items)) made.set(items, make(items));
    return made.get(items);
  };
};

/* The rows of the grid from top to bottom, as places in the items. */
export const rowsOf = once((items) => items.flatMap((item, i) => item.rows.map((row, r) => ({ item: i, row: r }))));

export const conditionsOf = once((items) => {
  const names = new Set();
  for (const item of items) for (const row of item.rows) names.add(row.condition);
  return [...names];
});

/* The words of a sentence as a model will see them. */
export const sentenceOf = (row) => row.cells.map((text) => text.trim()).filter(Boolean).join(" ");

/* ---- cells ---- */

export const put = (list, index, value) => list.map((one, i) => (i === index ? value : one));
const insert = (list, index, value) => [...list.slice(0, index), value, ...list.slice(index)];
const drop = (list, index) => list.filter((_, i) => i !== index);
const shift = (list, index, by) => insert(drop(list, index), index + by, list[index]);
export const number = (text) => (/^-?(0|[1-9]\d{0,14})$/.test(text.trim()) ? Number(text.trim()) : text.trim());

/* Remove values that were measured for a text that has changed. */
const still = (extra) => {
  if (!extra) return null;
  const rest = without(extra, "metric_value", "oovs");
  return Object.keys(rest).length ? rest : null;
};

export const setCell = (state, i, r, c, text) => {
  const item = state.items[i];
  const row = item.rows[r];
  if (row.cells[c] === text) return state;
  const changed = { ...row, cells: put(row.cells, c, text), extras: put(row.extras, c, still(row.extras[c])) };
  return { ...state, items: put(state.items, i, { ...item, rows: put(item.rows, r, changed) }) };
};

/* ---- references in predictions ---- */

const ATOM = /\(\s*([^()[\];%]*?)\s*;\s*%([^%;]*)%\s*\)/g;

const reword = (state, change) => ({
  ...state,
  predictions: state.predictions.map((prediction) => {
    const text = prediction.text.replace(ATOM, (whole, region, condition) => {
      const [to, of] = change(region, condition);
      return to === region && of === condition ? whole : `(${to};%${of}%)`;
    });
    return text === prediction.text ? prediction : { ...prediction, text };
  }),
});

const renumber = (state, numbers) => reword(state, (region, condition) => [numbers[region] ?? region, condition]);

/* ---- regions ---- */

const eachRow = (state, change) => ({
  ...state,
  items: state.items.map((item) => ({ ...item, rows: item.rows.map(change) })),
});

export const renameRegion = (state, c, name) => {
  const old = state.regions[c];
  if (old === name) return state;
  const renamed = { ...state, regions: put(state.regions, c, name) };
  const alone = state.regions.filter((other) => other === old).length === 1;
  const plain = name && !/[()[\];%]/.test(name) && !/^\d+$/.test(name);
  return alone && plain && old ? reword(renamed, (region, condition) => [region === old ? name : region, condition]) : renamed;
};

export const addRegion = (state, c, name = "") => {
  const numbers = Object.fromEntries(state.regions.map((_, index) => [index + 1, index < c ? index + 1 : index + 2]));
  const grown = eachRow(state, (row) => ({ ...row, cells: insert(row.cells, c, ""), extras: insert(row.extras, c, null) }));
  return renumber({ ...grown, regions: insert(state.regions, c, name) }, numbers);
};

export const removeRegion = (state, c) => {
  if (state.regions.length === 1) throw new Error("A suite has at least one region.");
  // A prediction about it must not refer to the region that takes its number.
  const gone = `removed ${state.regions[c].replace(/[()[\];%]/g, " ").trim()}`.trim();
  const numbers = Object.fromEntries(state.regions.map((_, index) => [index + 1, index < c ? index + 1 : index === c ? gone : index]));
  const less = eachRow(state, (row) => ({ ...row, cells: drop(row.cells, c), extras: drop(row.extras, c) }));
  return renumber({ ...less, regions: drop(state.regions, c) }, numbers);
};

export const moveRegion = (state, c, by) => {
  const to = c + by;
  if (to < 0 || to >= state.regions.length) return state;
  const moved = eachRow(state, (row) => ({ ...row, cells: shift(row.cells, c, by), extras: shift(row.extras, c, by) }));
  return renumber({ ...moved, regions: shift(state.regions, c, by) }, { [c + 1]: to + 1, [to + 1]: c + 1 });
};

/* ---- conditions ---- */

const fresh = (names, stem) => {
  let count = names.length + 1;
  while (names.includes(`${stem}${count}`)) count += 1;
  return `${stem}${count}`;
};

/* Add a condition to every item, after the condition `after` and as a copy of it. */
export const addCondition = (state, after) => {
  const name = fresh(conditionsOf(state), "condition_");
  return {
    ...state,
    items: state.items.map((item) => {
      const found = item.rows.findIndex((row) => row.condition === after);
      const at = found < 0 ? item.rows.length - 1 : found;
      const model = item.rows[at];
      const row = { condition: name, extra: {}, cells: [...model.cells], extras: model.cells.map(() => null) };
      return { ...item, rows: insert(item.rows, at + 1, row) };
    }),
  };
};

export const renameCondition = (state, old, given) => {
  const name = given.trim();
  if (name === old) return state;
  if (!name) throw new Error("A condition needs a name.");
  if (/[%;]/.test(name)) throw new Error("A condition's name cannot have % or ; in it: predictions could not speak of it.");
  if (conditionsOf(state).some((other) => other.trim() === name)) throw new Error(`There is a condition ${name} already.`);
  const renamed = eachRow(state, (row) => (row.condition === old ? { ...row, condition: name } : row));
  return reword(renamed, (region, condition) => [region, condition.trim() === old.trim() ? name : condition]);
};

export const removeCondition = (state, name) => {
  if (conditionsOf(state).length === 1) throw new Error("A suite has at least one condition.");
  const items = state.items.map((item) => ({ ...item, rows: item.rows.filter((row) => row.condition !== name) }));
  return { ...state, items: items.filter((item) => item.rows.length) };
};

export const moveCondition = (state, name, by) => ({
  ...state,
  items: state.items.map((item) => {
    const at = item.rows.findIndex((row) => row.condition === name);
    const to = at + by;
    return at < 0 || to < 0 || to >= item.rows.length ? item : { ...item, rows: shift(item.rows, at, by) };
  }),
});

/* ---- items ---- */

export const nextNumber = (state) => Math.max(0, ...state.items.map((item) => (typeof item.number === "number" ? item.number : 0))) + 1;

const emptyItem = (state, number) => ({
  number,
  extra: {},
  rows: conditionsOf(state).map((condition) => ({
    condition, extra: {}, cells: state.regions.map(() => ""), extras: state.regions.map(() => null),
  })),
});

export const addItem = (state, at) => ({ ...state, items: insert(state.items, at, emptyItem(state, nextNumber(state))) });

export const copyItem = (state, i) => ({
  ...state,
  items: insert(state.items, i + 1, {
    ...state.items[i], number: nextNumber(state), rows: state.items[i].rows.map((row) => ({ ...row, extras: row.extras.map(still) })),
  }),
});

export const removeItem = (state, i) => {
  if (state.items.length > 1) return { ...state, items: drop(state.items, i) };
  return { ...state, items: [{ ...emptyItem(state, state.items[i].number) }] };
};

export const moveItem = (state, i, by) => {
  const to = i + by;
  return to < 0 || to >= state.items.length ? state : { ...state, items: shift(state.items, i, by) };
};

export const setItemNumber = (state, i, text) => {
  const given = number(text);
  if (given === "") throw new Error("An item needs a number or a name.");
  if (String(given) === String(state.items[i].number)) return state;
  if (state.items.some((item, other) => other !== i && String(item.number) === String(given))) {
    throw new Error(`There is an item ${given} already.`);
  }
  return { ...state, items: put(state.items, i, { ...state.items[i], number: given }) };
};

export const numberItems = (state) => ({ ...state, items: state.items.map((item, index) => ({ ...item, number: index + 1 })) });

/* ---- predictions and meta ---- */

export const addPrediction = (state, text = "") => ({ ...state, predictions: [...state.predictions, { text }] });
export const setPrediction = (state, p, text) => ({ ...state, predictions: put(state.predictions, p, { ...state.predictions[p], text }) });
export const removePrediction = (state, p) => ({ ...state, predictions: drop(state.predictions, p) });
export const movePrediction = (state, p, by) =>
  (p + by < 0 || p + by >= state.predictions.length ? state : { ...state, predictions: shift(state.predictions, p, by) });

export const setMeta = (state, key, value) => {
  const empty = value === "" || value === null || (Array.isArray(value) && !value.length);
  return { ...state, meta: empty && key !== "name" ? without(state.meta, key) : { ...state.meta, [key]: value } };
};
