/* The pages about runs: tooltips of cells, and sorting and filtering without a page load. */
import { element, send, swap } from "./site.js";

// One tooltip for all cells: a title attribute is slow and needs a pointer.
const tip = element("div", "tip");
tip.id = "tip";
tip.setAttribute("role", "tooltip");
tip.hidden = true;
document.body.append(tip);
let told = null;
const hide = () => {
  if (!told) return;
  told.title = tip.dataset.text;
  told.removeAttribute("aria-describedby");
  told = null;
  tip.hidden = true;
};
const show = (target) => {
  if (target === told) return;
  hide();
  if (!target?.title) return;
  told = target;
  tip.dataset.text = tip.textContent = target.title;
  target.title = "";
  target.setAttribute("aria-describedby", "tip");
  tip.hidden = false;
  const place = target.getBoundingClientRect(), own = tip.getBoundingClientRect();
  const below = place.bottom + own.height + 8 < innerHeight;
  tip.style.left = `${Math.max(4, Math.min(place.left, innerWidth - own.width - 4))}px`;
  tip.style.top = `${below ? place.bottom + 4 : place.top - own.height - 4}px`;
};
const titled = (event) => event.target.closest?.(".matrix [title]");
document.addEventListener("pointerover", (event) => show(titled(event)));
document.addEventListener("focusin", (event) => show(titled(event)));
document.addEventListener("focusout", hide);
document.addEventListener("scroll", hide, true);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

// Replace the grid by that of another URL; scroll position and focus stay.
let latest = 0;
const bring = async (address, { push = true, fill = false } = {}) => {
  const mine = ++latest;
  const answer = await fetch(address);
  if (!answer.ok) return location.assign(address);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (mine !== latest) return;
  const other = fresh.getElementById("grid"), own = document.getElementById("grid");
  if (!other || !own) return location.assign(address);
  hide();
  swap(own, other);
  if (push) history.pushState({ softly: true }, "", address); else history.replaceState(history.state, "", address);
  const form = document.querySelector("form[data-softly]"), filled = fresh.querySelector("form[data-softly]");
  for (const hidden of form.querySelectorAll("input[type=hidden]")) hidden.remove();
  form.append(...filled.querySelectorAll("input[type=hidden]"));
  for (const one of filled.querySelectorAll("input[type=search], select")) {
    const own = form.elements[one.name];
    if (!own) continue;
    if (fill) own.value = one.value;
    if (own.matches("input")) own.defaultValue = one.value;
    else for (const option of own.options) option.defaultSelected = option.value === one.value;
  }
};
const wanted = (form) => {
  const given = [...new FormData(form)].filter(([, value]) => value !== "");
  const query = new URLSearchParams(given).toString();
  return form.getAttribute("action") + (query ? `?${query}` : "");
};
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-softly]");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  bring(link.getAttribute("href"));
});
const form = document.querySelector("form[data-softly]");
let waiting = 0;
let typing = false;
form?.addEventListener("input", (event) => {
  if (!event.target.matches("input[type=search]")) return;
  clearTimeout(waiting);
  // The first keystroke adds a history entry; the next ones replace it.
  waiting = setTimeout(() => { bring(wanted(form), { push: !typing }); typing = true; }, 200);
});
form?.addEventListener("focusout", () => { typing = false; });
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  if (wanted(form) !== location.pathname + location.search) bring(wanted(form));
});
addEventListener("popstate", () => {
  if (document.getElementById("grid")) bring(location.href, { push: false, fill: true });
});

// Changes are sent with the CSRF token; the response contains the next URL.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-sent]")) return;
  event.preventDefault();
  const sure = event.submitter?.dataset.sure;
  if (sure && !confirm(sure)) return;
  const said = await send(form.getAttribute("action"), { body: new URLSearchParams(new FormData(form, event.submitter)) })
    .then((answer) => answer.json(), () => ({ error: "The server does not respond: is wug view still running?" }));
  if (said.address) return location.assign(said.address);
  const words = element("p", "notice bad refused", said.error);
  words.setAttribute("role", "alert");
  form.querySelector(".refused")?.remove();
  form.prepend(words);
});
