/* Try a sentence: more lines to write in, and answers that come in while the page stands. */
const STAGES = { waiting: "Waiting for other work…", loading: "Loading the model…", asking: "Asking the model…" };
const LOOK = 600;

const list = document.getElementById("sentences");
const more = document.getElementById("more");
if (list && more) {
  const room = () => list.children.length < Number(list.dataset.most);
  more.hidden = !room();
  more.addEventListener("click", () => {
    const line = list.lastElementChild.cloneNode(true);
    const number = list.children.length + 1;
    const input = line.querySelector("input"), label = line.querySelector("label");
    input.id = `s${number}`;
    input.value = "";
    input.removeAttribute("placeholder");
    label.htmlFor = input.id;
    label.textContent = `Sentence ${number}`;
    list.append(line);
    more.hidden = !room();
    input.focus();
  });
  // An address without the lines that were left empty.
  document.getElementById("sentence-form").addEventListener("formdata", ({ formData }) => {
    const texts = formData.getAll("s").filter((text) => text.trim());
    formData.delete("s");
    for (const text of texts) formData.append("s", text);
  });
}

const answers = () => document.getElementById("answers");
const follow = async () => {
  try {
    const answer = await fetch(`/sentence/state.json${location.search}`, { headers: { Accept: "application/json" } });
    const said = await answer.json();
    for (const { model, stage, done, total } of said.models ?? []) {
      const words = [...document.querySelectorAll(".waiting")].find((one) => one.dataset.model === model);
      if (words && STAGES[stage]) words.textContent = stage === "asking" && total ? `${STAGES[stage]} ${done} of ${total}` : STAGES[stage];
    }
    if (said.done || !answer.ok) {
      const fresh = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
      answers().replaceWith(fresh.getElementById("answers"));
      const scale = fresh.querySelector(".scale");
      if (scale) answers().after(scale);
      if (answers().dataset.waiting === undefined) return;
    }
  } catch {
    for (const words of document.querySelectorAll(".waiting")) words.textContent = "The server does not answer. Trying again…";
  }
  setTimeout(follow, LOOK);
};
if (answers().dataset.waiting !== undefined) follow();
