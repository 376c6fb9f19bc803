/* Keeping a draft safe: in this browser at once, on the server a moment later. Where both have it and they differ, the
 * one that was changed last is shown, and the other can be had back.
 */
import { send } from "./site.js";

const WAIT = 500, RETRY = 2000;
/* Characters up to which every letter is kept in the browser at once; a larger suite a tenth of a second later, since
 * writing it whole takes as long as a few keys. */
const LARGE = 200_000, SOON = 100;

/* `textOf` returns the canonical JSON of a document, for comparisons. */
export const makeKeeper = (id, { tell, other, adopt, textOf }) => {
  const key = `wug-draft-${id}`;
  const address = `/editor/${id}/draft.json`;
  let seen = null, waiting = null, sending = null, latest = null, kept = true, common = "", trouble = "";

  const local = () => {
    try { return JSON.parse(localStorage.getItem(key)); } catch { return null; }
  };
  let stored = true;
  const written = ({ text, changed, kept }) => `{"changed":${changed},${kept ? '"kept":true,' : ""}"document":${text}}`;
  const store = (draft) => {
    const text = written(draft);
    const put = () => { try { localStorage.setItem(key, text); return true; } catch { return false; } };
    stored = put() || (makeRoom(), put());
    return stored;
  };
  /* If there is no space, delete copies of other drafts that are on the server. */
  const makeRoom = () => {
    for (const name of Object.keys(localStorage)) {
      if (!name.startsWith("wug-draft-") || name === key) continue;
      try { if (JSON.parse(localStorage.getItem(name)).kept) localStorage.removeItem(name); } catch { localStorage.removeItem(name); }
    }
  };
  const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

  /* The draft of the server or of the browser, whichever was changed last. */
  const load = async () => {
    const mine = local();
    const theirs = await ask();
    seen = theirs ? theirs.revision : null;
    if (!mine && !theirs) return null;
    if (!mine) return first(theirs);
    if (!theirs) {
      keep(textOf(mine.document), mine.changed);
      tell("kept", "This suite was not on the server; it was restored from this browser.");
      return mine;
    }
    if (textOf(mine.document) === textOf(theirs.document)) return first(theirs);
    if (mine.changed > theirs.changed) {
      keep(textOf(mine.document), mine.changed);
      other(`Changes of ${clock(mine.changed)} that had not reached the server were restored from this browser.`, "Show the server's version", theirs.document);
      return mine;
    }
    other(`The suite was changed elsewhere at ${clock(theirs.changed)}: that version is shown.`, "Show this browser's version", mine.document);
    return first(theirs);
  };
  const first = (draft) => {
    store({ text: textOf(draft.document), changed: draft.changed, kept: true });
    tell("kept", "Kept");
    return draft;
  };
  const ask = async () => {
    for (;;) {
      try {
        const answer = await fetch(address, { headers: { Accept: "application/json" } });
        if (answer.status === 404) return null;
        const said = await answer.json();
        if (!answer.ok) throw new Error(said.error);
        return said;
      } catch (error) {
        const mine = local();
        if (mine) return null;
        tell("alone", `The server does not respond (${error.message}). Trying again…`);
        await new Promise((done) => setTimeout(done, RETRY));
      }
    }
  };

  /* Store the JSON of a document. */
  const keep = (text, changed = Date.now()) => {
    latest = { text, changed };
    kept = false;
    if (text.length < LARGE) storeNow();
    else { tell("going", "Saving…"); storing ??= setTimeout(storeNow, SOON); }
    clearTimeout(waiting);
    waiting = setTimeout(flush, WAIT);
  };

  let storing = null;
  const storeNow = () => {
    clearTimeout(storing);
    storing = null;
    if (kept) return;
    if (store(latest)) tell("going", "Saving…");
    else tell("going", "This browser has no space left; it is stored on the server only.");
  };

  /* Wait until everything is on the server. */
  const flush = async () => {
    clearTimeout(waiting);
    if (sending) { await sending; if (kept) return; }
    if (kept || !latest) return;
    sending = write(latest).finally(() => { sending = null; });
    await sending;
  };
  /* The same, or an error, so that nobody continues with an older version. */
  const settle = async () => {
    await flush();
    if (!kept) throw new Error(trouble || "The server does not respond.");
  };
  const write = async (draft) => {
    try {
      const body = `{"changed":${draft.changed},"seen":${seen},"document":${draft.text}}`;
      const answer = await send(address, { method: "PUT", body, headers: { "Content-Type": "application/json" } });
      const said = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : { error: await answer.text() };
      if (answer.status === 409) {
        seen = said.theirs.revision;
        if (textOf(said.theirs.document) !== common) other("The suite was also changed in another window; this version replaced it.", "Show the other version", said.theirs.document);
        await write(draft);
        return;
      }
      if (!answer.ok) {
        trouble = `Stored in this browser only, not on the server: ${said.error}`;
        tell("bad", trouble);
        waiting = setTimeout(flush, 5 * RETRY);
        return;
      }
      seen = said.revision;
      if (draft === latest) {
        kept = true;
        store({ ...draft, kept: true });
        tell("kept", `Draft saved at ${clock(draft.changed)}`);
      }
    } catch {
      trouble = "The server does not respond.";
      tell("alone", "The server does not respond. Your changes are stored in this browser and sent when it is back.");
      clearTimeout(waiting);
      waiting = setTimeout(flush, RETRY);
    }
  };

  // Another window of this browser has changed the same suite.
  addEventListener("storage", (event) => {
    if (event.key !== key || !event.newValue || !kept) return;
    const draft = JSON.parse(event.newValue);
    common = textOf(draft.document);
    latest = { text: common, changed: draft.changed };
    adopt(draft.document);
  });
  addEventListener("pagehide", () => { if (storing !== null) storeNow(); if (!kept) flush(); });

  return { load, keep, flush, settle, isKept: () => kept, isSafe: () => { if (storing !== null) storeNow(); return kept || stored; } };
};
