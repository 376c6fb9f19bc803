/* The start page of the editor: uploads, and discarding drafts. */
import { by, read, send } from "./site.js";

const failure = by("failure");
const say = (text) => { failure.textContent = text; failure.hidden = false; };

for (const time of document.querySelectorAll("time[data-ms]")) {
  const moment = new Date(Number(time.dataset.ms));
  time.dateTime = moment.toISOString();
  time.textContent = moment.toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
}

const begin = async (address, given) => {
  try {
    location.href = (await read(await send(address, given))).address;
  } catch (error) {
    say(error instanceof TypeError ? "The server does not respond." : error.message);
  }
};
for (const button of document.querySelectorAll("[data-from]")) {
  button.addEventListener("click", () => begin("/editor/new.json", { json: { from: button.dataset.from } }));
}
const take = async (file) => {
  if (file) begin("/editor/upload.json", { body: await file.arrayBuffer(), headers: { "X-File-Name": encodeURIComponent(file.name) } });
};
const input = by("upload-file");
input.addEventListener("change", () => take(input.files[0]));
const card = input.closest(".card");
card.addEventListener("dragover", (event) => { event.preventDefault(); card.classList.add("over"); });
card.addEventListener("dragleave", () => card.classList.remove("over"));
card.addEventListener("drop", (event) => { event.preventDefault(); card.classList.remove("over"); take(event.dataTransfer.files[0]); });

for (const button of document.querySelectorAll("[data-discard]")) {
  button.addEventListener("click", async () => {
    if (!confirm(`Discard the draft of ${button.dataset.name}? Files that you saved or downloaded stay.`)) return;
    const answer = await send(`/editor/${button.dataset.discard}/draft.json`, { method: "DELETE", json: {} });
    if (!answer.ok) { say(await answer.text()); return; }
    localStorage.removeItem(`wug-draft-${button.dataset.discard}`);
    button.closest("li").remove();
  });
}
