/* Saving into a folder and downloading. The file that was saved last is saved again without a question, as long as
 * nobody else has changed it. */
import { by, send } from "./site.js";

export const makeSaving = (id, { state, textOf, finish, busy, keeper, notice }) => {
  const dialog = by("save-dialog");
  const key = `wug-saved-${id}`;
  const known = () => { try { return JSON.parse(localStorage.getItem(key)); } catch { return null; } };
  const slug = () => (String(state().meta.name ?? "").normalize("NFC").replace(/[^\p{L}\p{N}_.+-]+/gu, "_").replace(/^[._]+|[._]+$/g, "").slice(0, 80) || "suite");

  const quoted = (path) => (/^[\w/.+-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
  const told = (path) => notice(`Saved as ${path}. To run it in the terminal: wug run ${quoted(path)}`, "good");

  const open = () => {
    if (!by("save") || dialog.open) return;
    finish();
    by("save-error").hidden = true;
    if (!by("save-name").value) by("save-name").value = known()?.name ?? `${slug()}.json`;
    dialog.showModal();
    by("save-name").select();
  };

  /* Send the document itself, so that it can be saved even if the server cannot store drafts. */
  const write = async ({ folder, name, overwrite = false, seen = null }) => {
    const wanted = JSON.stringify({ folder, name, overwrite, seen });
    const body = `${wanted.slice(0, -1)},"document":${textOf()}}`;
    const answer = await send(`/editor/${id}/save.json`, { body, headers: { "Content-Type": "application/json" } })
      .catch(() => { throw new Error("The server does not respond."); });
    const said = await answer.json();
    if (answer.status === 409 && !overwrite) {
      const why = seen ? "The file has changed since it was saved here" : "The file exists";
      return confirm(`${why}:\n${said.path}\nOverwrite it?`) ? write({ folder, name, overwrite: true }) : null;
    }
    if (!answer.ok) throw new Error(said.error);
    localStorage.setItem(key, JSON.stringify({ folder, name, seen: said.digest, path: said.path }));
    named();
    return said.path;
  };

  const named = () => {
    const saved = known();
    if (!by("save")) return;
    by("save").textContent = saved ? "Save" : "Save…";
    by("save").title = saved ? `Save again as ${saved.path} (Ctrl+S)` : "Save (Ctrl+S)";
    by("save-as").hidden = !saved;
  };

  const save = async () => {
    if (!by("save") || dialog.open) return;
    const saved = known();
    if (!saved) { open(); return; }
    finish();
    try {
      const path = await write(saved);
      if (path) told(path);
    } catch (error) { notice(error.message, "bad"); }
  };

  dialog.addEventListener("submit", async (event) => {
    if (event.submitter?.value !== "save") return;
    event.preventDefault();
    try {
      const path = await write({ folder: by("save-folder").value, name: by("save-name").value });
      if (!path) return;
      dialog.close();
      told(path);
    } catch (error) {
      by("save-error").textContent = error.message;
      by("save-error").hidden = false;
    }
  });
  by("save")?.addEventListener("click", save);
  by("save-as")?.addEventListener("click", open);
  named();

  for (const link of [by("download-json"), by("download-csv")]) {
    link.addEventListener("click", async (event) => {
      if (!busy() && keeper.isKept()) { if (link.id === "download-json") return; }
      event.preventDefault();
      finish();
      try { await keeper.settle(); } catch (error) { notice(error.message, "bad"); return; }
      // Show an error on the page instead of downloading it as a file.
      const answer = await fetch(link.href, { headers: { Accept: "application/json" } }).catch(() => null);
      if (!answer) { notice("The server does not respond.", "bad"); return; }
      if (!answer.ok) { notice((await answer.json()).error, "bad"); return; }
      const hidden = document.createElement("a");
      hidden.href = link.href;
      hidden.download = "";
      hidden.click();
    });
  }
  return { save };
};
