/* Try a sentence: answers follow what is typed, values of a text that is no longer there are greyed, and a token opens
 * into what the model expected in its place. */
import { by, dress, element, send } from "./site.js";

const STAGES = { waiting: "Waiting for other jobs…", loading: "Loading the model…", scoring: "Scoring…" };
const LOOK = 600, PAUSE = 350;

const form = by("sentence-form"), list = by("sentences"), more = by("more");
const self = crypto.randomUUID?.() ?? String(Math.random());
const plain = (text) => text.split(/\s+/).filter(Boolean).join(" ");
const texts = () => [...list.querySelectorAll("input")].map((input) => plain(input.value)).filter(Boolean);

/* ---- URL ---- */

const addressNow = () => {
  const query = new URLSearchParams(texts().map((text) => ["s", text]));
  for (const box of form.querySelectorAll("[name=m]:checked")) query.append("m", box.value);
  return `/sentence?${query}`;
};

/* ---- old values ---- */

const grey = () => {
  const now = new Set(texts());
  for (const line of document.querySelectorAll(".scored > li")) line.classList.toggle("old", !now.has(line.dataset.text));
};

/* ---- scoring while typing ---- */

let latest = 0, pause = null;
const put = (fresh) => {
  for (const name of ["fault", "answers", "scale"]) by(name).replaceWith(fresh.getElementById(name));
  dress(by("scale"));
  grey();
};
const say = (states) => {
  for (const { model, stage, done, total } of states ?? []) {
    const words = [...document.querySelectorAll(".waiting, .old-words")].find((one) => one.dataset.model === model);
    if (words && STAGES[stage]) words.textContent = stage === "scoring" && total ? `${STAGES[stage]} ${done} of ${total}` : STAGES[stage];
  }
};
/* Old results stay, greyed out, until new ones arrive. */
const hold = () => {
  for (const panel of document.querySelectorAll(".panel")) {
    if (!panel.querySelector(".scored") || panel.querySelector(".old-words")) continue;
    const words = element("p", "old-words", "Loading…");
    words.dataset.model = panel.dataset.model;
    words.setAttribute("role", "status");
    panel.append(words);
  }
};
const look = async (address, mine) => {
  try {
    const answer = await fetch(address, { headers: { "X-Wug-Live": self } });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (mine !== latest) return;
    const waits = fresh.getElementById("answers")?.dataset.waiting !== undefined;
    if (!waits || !document.querySelector(".scored")) put(fresh);
    else hold();
    if (!waits) return;
    say((await (await fetch(`/sentence/state.json?${address.split("?")[1]}`, { headers: { Accept: "application/json" } })).json()).models);
  } catch {
    if (mine !== latest) return;
    for (const words of document.querySelectorAll(".waiting, .old-words")) words.textContent = "The server does not respond. Trying again…";
  }
  setTimeout(() => { if (mine === latest) look(address, mine); }, LOOK);
};
const ask = () => {
  clearTimeout(pause);
  const mine = (latest += 1);
  grey();
  if (!texts().length) return;
  history.replaceState(null, "", addressNow());
  look(addressNow(), mine);
};

if (form) {
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
  // Leave empty sentences out of the URL.
  form.addEventListener("formdata", ({ formData }) => {
    const given = formData.getAll("s").filter((text) => text.trim());
    formData.delete("s");
    for (const text of given) formData.append("s", text);
  });
  list.addEventListener("input", (event) => {
    grey();
    clearTimeout(pause);
    if (!event.isComposing) pause = setTimeout(ask, PAUSE);
  });
  list.addEventListener("compositionend", () => { clearTimeout(pause); pause = setTimeout(ask, PAUSE); });
  form.querySelector("fieldset").addEventListener("change", ask);
}

/* ---- most probable tokens ---- */

const instead = async (piece) => {
  const line = piece.closest("li"), before = line.querySelector(".instead");
  const again = piece.getAttribute("aria-expanded") === "true";
  before?.remove();
  for (const one of line.querySelectorAll('.piece[aria-expanded="true"]')) one.setAttribute("aria-expanded", "false");
  if (again) return;
  piece.setAttribute("aria-expanded", "true");
  const box = element("div", "instead"), word = piece.querySelector("bdi").textContent;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `Instead of ${word}`);
  box.tabIndex = -1;
  const words = element("p", "", "Loading…");
  words.setAttribute("role", "status");
  box.append(words);
  line.querySelector(".sums").after(box);
  const { place, entropy, rank } = piece.dataset;
  const request = { text: line.dataset.text, model: piece.closest(".panel").dataset.model, token: Number(place) };
  try {
    for (;;) {
      const answer = await send("/sentence/likeliest.json", { json: request });
      const said = await answer.json();
      if (!box.isConnected) return;
      if (!answer.ok || said.error) throw new Error(said.error);
      if (!said.done) { await new Promise((done) => setTimeout(done, LOOK)); continue; }
      words.textContent = entropy ? `Entropy here: ${entropy} bits. “${word}” has rank ${rank}.` : `In the place of “${word}”:`;
      if (!said.tokens.length) { words.textContent = `“${word}” has no context from which the model could predict it.`; return; }
      const found = element("ol"), most = Number(said.tokens[0].percent) || 100;
      found.append(...said.tokens.map(({ text, bits, percent }) => {
        const one = element("li", text === word ? "same" : ""), name = element("bdi", "", text), share = element("span", "share"), bar = element("i");
        bar.style.width = `${100 * percent / most}%`;
        share.append(bar);
        share.setAttribute("aria-hidden", "true");
        one.append(name, share, element("span", "num", `${percent} %`), element("span", "num", `${bits} bits`));
        return one;
      }));
      box.append(found);
      return;
    }
  } catch (error) {
    words.textContent = error instanceof TypeError ? "The server does not respond." : error.message;
    words.className = "notice bad";
  }
};

/* ---- copy as image ---- */

/* What an element shows, as boxes and words with their places on the page. */
const painted = (root) => {
  const boxes = [], words = [];
  const shown = (one) => one.checkVisibility() && !one.closest(".unseen, .instead, .old-words");
  for (const one of root.querySelectorAll(".piece, .aligned td")) {
    if (shown(one)) boxes.push({ place: one.getBoundingClientRect(), style: getComputedStyle(one) });
  }
  const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT), range = document.createRange();
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    if (!shown(node.parentElement)) continue;
    for (const { 0: text, index } of node.data.matchAll(/\S+/g)) {
      range.setStart(node, index);
      range.setEnd(node, index + text.length);
      words.push({ text, place: range.getBoundingClientRect(), style: getComputedStyle(node.parentElement) });
    }
  }
  return { boxes, words };
};
/* The answers on a canvas, at twice the size of the page. */
const picture = (root) => {
  const { boxes, words } = painted(root), every = [...boxes, ...words].map(({ place }) => place);
  const [left, top] = ["left", "top"].map((side) => Math.min(...every.map((place) => place[side])) - 16);
  const [right, bottom] = ["right", "bottom"].map((side) => Math.max(...every.map((place) => place[side])) + 16);
  const canvas = document.createElement("canvas"), draw = canvas.getContext("2d");
  Object.assign(canvas, { width: 2 * (right - left), height: 2 * (bottom - top) });
  draw.fillStyle = getComputedStyle(document.body).backgroundColor;
  draw.fillRect(0, 0, canvas.width, canvas.height);
  draw.setTransform(2, 0, 0, 2, -2 * left, -2 * top);
  for (const { place: { x, y, width, height }, style } of boxes) {
    draw.beginPath();
    draw.roundRect(x, y, width, height, parseFloat(style.borderStartEndRadius) || 0);
    draw.fillStyle = style.backgroundColor;
    draw.fill();
    if (style.outlineStyle === "none") continue;
    Object.assign(draw, { strokeStyle: style.outlineColor, lineWidth: parseFloat(style.outlineWidth) });
    draw.stroke();
  }
  for (const { text, place, style } of words) {
    Object.assign(draw, { font: `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`, fillStyle: style.color, direction: style.direction, textAlign: "left" });
    const { fontBoundingBoxAscent: above, fontBoundingBoxDescent: below } = draw.measureText(text);
    draw.fillText(text, place.left, place.top + (place.height + above - below) / 2);
  }
  return new Promise((made) => { canvas.toBlob(made, "image/png"); });
};
/* To the clipboard, or to a file where a page may not write to it. */
const copyImage = async (button) => {
  const image = picture(by("answers"));
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": image })]);
    button.textContent = "Copied";
  } catch {
    const link = Object.assign(element("a"), { href: URL.createObjectURL(await image), download: "sentence.png" });
    link.click();
    URL.revokeObjectURL(link.href);
    button.textContent = "Saved as sentence.png";
  }
  setTimeout(() => { button.textContent = "Copy as image"; }, 2000);
};
document.addEventListener("click", (event) => {
  const piece = event.target.closest?.("button.piece");
  if (piece) instead(piece);
  if (event.target.id === "as-image") copyImage(event.target);
});

if (by("answers").dataset.waiting !== undefined) look(`/sentence${location.search}`, latest);
