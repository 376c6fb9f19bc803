/* What was done, to be undone and redone; kept in this browser, so that a reload does not end it.
 *
 * A step is kept as what differs from the state beside it: items that both have are named by their places.
 */
const PAST = 500, TOGETHER = 1200, ROOM = 1_000_000, WAIT = 600;

const HEAD = ["meta", "extra", "regions", "predictions"];

const encode = (from, to) => {
  const step = {}, places = new Map(from.items.map((item, index) => [item, index]));
  for (const key of HEAD) if (from[key] !== to[key]) step[key] = to[key];
  step.items = [];
  for (const item of to.items) {
    const place = places.get(item), last = step.items.at(-1);
    if (place === undefined) step.items.push(item);
    else if (Array.isArray(last) && last[0] + last[1] === place) last[1] += 1;
    else step.items.push([place, 1]);
  }
  return step;
};

const decode = (from, { items, ...head }) => ({
  ...from,
  ...head,
  items: items.flatMap((one) => {
    if (!Array.isArray(one)) return [one];
    if (one[0] + one[1] > from.items.length) throw new RangeError("a step that does not fit");
    return from.items.slice(one[0], one[0] + one[1]);
  }),
});

/* A hash of a text. */
const mark = (text) => {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return `${text.length}:${hash >>> 0}`;
};

export const makeHistory = (id, { state, become, textOf }) => {
  const key = `wug-history-${id}`;
  const texts = new WeakMap();
  let past = [], future = [], last = { key: "", time: 0 }, waiting = null;

  const stepText = (from, to) => {
    const known = texts.get(to);
    if (known?.from === from) return known.text;
    const text = JSON.stringify(encode(from, to));
    texts.set(to, { from, text });
    return text;
  };
  const chain = (states, room) => {
    const found = [];
    let from = state(), left = room;
    for (const to of [...states].reverse()) {
      const text = stepText(from, to);
      left -= text.length;
      if (left < 0) break;
      found.push(text);
      from = to;
    }
    return `[${found.join(",")}]`;
  };

  const keep = () => {
    clearTimeout(waiting);
    waiting = null;
    const put = (room) => localStorage.setItem(key, `{"of":${JSON.stringify(mark(textOf()))},"past":${chain(past, room)},"future":${chain(future, room / 4)}}`);
    try { put(ROOM); } catch { try { put(ROOM / 20); } catch { localStorage.removeItem(key); } }
  };
  const later = () => { waiting ??= setTimeout(keep, WAIT); };
  addEventListener("pagehide", () => { if (waiting !== null) keep(); });

  const go = (from, to) => {
    if (!from.length) return;
    to.push(state());
    last.key = "";
    become(from.pop());
    later();
  };

  return {
    /* Add a state; consecutive keystrokes are one undo step. */
    record: (next, name = "") => {
      const now = Date.now();
      if (!(name && name === last.key && (name.startsWith("cell ") || now - last.time < TOGETHER))) past.push(state());
      if (past.length > PAST) past.shift();
      last = { key: name, time: now };
      future = [];
      become(next);
      later();
    },
    /* Drop the last changes with a name, and return the state before them. */
    drop: (name) => {
      if (name !== last.key || !past.length) return;
      last.key = "";
      become(past.pop());
      later();
    },
    /* The next state comes from another window. */
    adopt: (next) => { past.push(state()); last.key = ""; become(next, false); later(); },
    undo: () => go(past, future),
    redo: () => go(future, past),
    canUndo: () => past.length > 0,
    canRedo: () => future.length > 0,
    /* Restore the stored history if it belongs to the current state. */
    restore: () => {
      try {
        const found = JSON.parse(localStorage.getItem(key));
        if (!found || found.of !== mark(textOf())) return;
        const states = (steps) => {
          let from = state();
          return steps.map((step) => (from = decode(from, step))).reverse();
        };
        [past, future] = [states(found.past), states(found.future)];
      } catch { localStorage.removeItem(key); }
    },
  };
};
