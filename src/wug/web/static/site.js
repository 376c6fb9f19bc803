/* Common to all pages: charts, copy buttons, live updates, requests with the CSRF token. */
const meta = document.querySelector('meta[name="wug-token"]');
const charts = { mode: "vega-lite", renderer: "svg", ast: true, actions: false, hover: true, defaultStyle: false, logLevel: 1,
  tooltip: { disableDefaultStyle: true } };

// Writes carry the CSRF token. A restarted server has a new one, which only our own pages can read.
export const send = async (address, { method = "POST", json, body, headers = {} } = {}, again = true) => {
  const given = json === undefined ? body : JSON.stringify(json);
  const type = json === undefined ? {} : { "Content-Type": "application/json" };
  const answer = await fetch(address, {
    method, body: given, headers: { ...type, ...headers, "X-Wug-Token": meta.content },
  });
  if (again && answer.status === 403 && answer.headers.get("X-Wug-Reason") === "token") {
    meta.content = (await (await fetch("/token", { headers: { Accept: "application/json" } })).json()).token;
    return send(address, { method, json, body, headers }, false);
  }
  return answer;
};

export const by = (id) => document.getElementById(id);
export const element = (tag, className = "", text = "") => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
};
/* The JSON of a response, or an error with its text. */
export const read = async (answer) => {
  const said = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) throw new Error(said.error);
  return said;
};

let loading = null;
const vega = () => {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/assets/vega.js";
    script.onload = () => resolve(window.vegaEmbed);
    script.onerror = () => { loading = null; reject(new Error("the charts' script cannot be loaded")); };
    document.head.append(script);
  });
  return loading;
};

// Replace the content of `place` by a chart.
export const draw = async (place, spec) => {
  await vega();
  return wugCharts.draw(place, spec, charts);
};

// Where a click on a mark leads: to the items of a group, a bar or a region, to an item, to a run, or where the link of
// that name leads. `groups` are the groups of items by the rows of the chart.
const target = (plot, datum, groups = {}) => {
  const items = plot.dataset.items, place = new URL(plot.dataset.spec, location.href);
  if (!datum) return null;
  if (datum.run) return `/run/${datum.run}`;
  if (!items) return [...document.querySelectorAll("main table a")].find((link) => link.textContent.trim() === datum.name)?.href;
  const to = (query) => `${items}s?${new URLSearchParams(query)}`;
  const field = /\/figure\/by-([^.]+)\./.exec(place.pathname)?.[1], item = place.searchParams.get("item");
  if (datum.item) return `${items}/${encodeURIComponent(datum.item)}`;
  if (datum.condition) return item ? `${items}/${encodeURIComponent(item)}` : to({});
  if (datum.name && "y" in datum) return `${items}/${encodeURIComponent(datum.name)}`;
  if ("count" in datum && "low" in datum) return to({ value: { right: "true", wrong: "false" }[datum.series] ?? "", sort: "margin" });
  if (field && "x" in datum) return to({ group: `${decodeURIComponent(field)}=${datum.x}` });
  const group = datum.about ?? groups[datum.row] ?? groups[`\n${datum.name}`];
  return group ? to({ group }) : /^all /.test(datum.name) ? to({}) : null;
};
// In a comparison, a mark opens the list of items that differ.
const differing = (datum) => datum && [...document.querySelectorAll("details[data-row]")].find(({ dataset }) =>
  (!datum.series || datum.series === dataset.pair) && (datum.row === dataset.row || datum.row === `\n${dataset.row.split("\n")[0]}`));

const fill = async (plot) => {
  plot.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(plot.dataset.spec, { headers: { Accept: "application/json" } });
    const spec = await read(answer);
    if (spec.absent) return plot.closest("figure").remove();
    if (plot.dataset.drawn === JSON.stringify(spec)) return;
    const { view } = await draw(plot, spec);
    const leads = (item) => target(plot, item?.datum, spec.usermeta?.groups) ?? differing(item?.datum);
    view.addEventListener("mouseover", (event, item) => { plot.style.cursor = leads(item) ? "pointer" : ""; });
    view.addEventListener("click", (event, item) => {
      const to = leads(item);
      if (!to) return;
      if (typeof to === "string") return location.assign(to);
      to.open = true;
      to.scrollIntoView({ block: "start" });
    });
    plot.dataset.drawn = JSON.stringify(spec);
    plot.removeAttribute("aria-busy");
  } catch (error) {
    plot.replaceChildren(element("p", "left", `The chart cannot be drawn: ${error.message}. Its numbers are in the table.`));
    plot.removeAttribute("aria-busy");
  }
};
const seen = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    seen.unobserve(target);
    fill(target);
  }
}, { rootMargin: "1200px" });

// Load a part of the page that takes long to compute.
const load = async (place) => {
  const answer = await fetch(place.dataset.fragment);
  const part = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("fragment");
  place.removeAttribute("aria-busy");
  place.replaceChildren(...(part ? part.childNodes : ["This part cannot be read."]));
};

// Open an item as a draft in the editor.
const edit = async (one) => {
  const suite = await fetch(one.dataset.edit);
  const answer = suite.ok && await send("/editor/upload.json", { body: await suite.text(), headers: { "X-File-Name": "item.json" } });
  const said = answer && await answer.json();
  if (answer && answer.ok) location.assign(said.address);
  else one.replaceWith(said ? said.error : "This item cannot be opened in the editor.");
};

// Initialise everything under `root`.
export const dress = (root) => {
  for (const plot of root.querySelectorAll("[data-spec]")) {
    seen.observe(plot);
  }
  for (const one of root.querySelectorAll("[data-edit]")) {
    one.hidden = false;
    one.addEventListener("click", () => edit(one));
  }
  for (const box of root.querySelectorAll("[data-strip]")) wugCharts.strip(box);
  for (const block of root.querySelectorAll("pre.copy")) wugCharts.copyable(block);
  for (const place of root.querySelectorAll("[data-fragment]")) load(place);
  for (const form of root.querySelectorAll("form[data-filter]")) {
    form.addEventListener("change", (event) => { if (event.target.matches("select, [type=checkbox], [type=radio]")) form.requestSubmit(); });
    // Leave empty fields out of the URL.
    form.addEventListener("formdata", ({ formData }) => {
      const kept = [...formData].filter(([, value]) => value !== "");
      for (const name of new Set(formData.keys())) formData.delete(name);
      for (const [name, value] of kept) formData.append(name, value);
    });
  }
};

// Replace an element; checkboxes, scroll position and focus stay.
const same = (element) => {
  if (element.id) return `#${CSS.escape(element.id)}`;
  if (element.name) return `[name="${CSS.escape(element.name)}"][value="${CSS.escape(element.value ?? "")}"]`;
  const label = element.getAttribute("aria-label"), href = element.getAttribute("href");
  return label ? `[aria-label="${CSS.escape(label)}"]` : href ? `[href="${CSS.escape(href)}"]` : null;
};
export const swap = (part, other) => {
  const active = part.contains(document.activeElement) ? same(document.activeElement) : null;
  const ticked = [...part.querySelectorAll("input:checked")].map(same);
  const scrolled = [...part.querySelectorAll(".scroll[id]")].map((one) => [one.id, one.scrollLeft, one.scrollTop]);
  part.replaceWith(other);
  dress(other);
  for (const [id, left, top] of scrolled) document.getElementById(id)?.scrollTo({ left, top, behavior: "instant" });
  for (const tick of ticked) { const box = tick && other.querySelector(tick); if (box) box.checked = true; }
  if (active) other.querySelector(active)?.focus({ preventScroll: true });
};

// Live updates: poll the state every few seconds, and replace only what differs.
let state = document.body.dataset.state;
const refresh = async () => {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live][id]")) {
    const other = fresh.getElementById(part.id);
    if (!other || other.dataset.live === undefined) continue;
    if (part.dataset.live === other.dataset.live && part.dataset.live !== "") continue;
    if (part.dataset.live === "" && part.innerHTML === other.innerHTML) continue;
    swap(part, other);
    if (part.dataset.live !== "") other.classList.add("fresh");
  }
};
const follow = async () => {
  let wait = 15000;
  try {
    if (!document.hidden) {
      const answer = await fetch("/state.json");
      const now = await answer.json();
      // A restarted server needs its new URL to be opened first.
      document.body.classList.toggle("shut", answer.status === 403);
      document.body.classList.remove("alone");
      if (answer.ok && now.state !== state) { state = now.state; await refresh(); }
      wait = now.going ? 1500 : 8000;
    }
  } catch {
    document.body.classList.remove("shut");
    document.body.classList.add("alone");  // the server has ended; the page stays readable
    wait = 5000;
  }
  setTimeout(follow, wait);
};

// `/` focuses the filter, `[` and `]` open the previous and next page, `?` the help.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input, textarea, select, [contenteditable]")) return;
  const goes = { "/": "input[type=search]", "[": "a[rel=prev]", "]": "a[rel=next]", "?": 'nav a[href="/help"]' }[event.key];
  const target = goes && document.querySelector(goes);
  if (!target) return;
  event.preventDefault();
  target.matches("a") ? target.click() : target.focus();
});

// After Back, reset filters that were typed but not applied.
addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-filter]")) form.reset(); });

dress(document);
if (state !== undefined) setTimeout(follow, 1500);
