/* Scores the suite: one job per model on the server, its progress, and the results next to the grid. */
import { by, draw, element, read, send } from "./site.js";

const LOOK = 400;
const STAGES = { waiting: "Waiting for other jobs", loading: "Loading the model", scoring: "Scoring" };

export const makeScoring = (id, { flush, marks, held, current }) => {
  const form = by("score-form");
  const key = `wug-run-${id}`;
  let jobs = [], stopped = false, results = [], result = null;

  const fail = (text) => { by("score-error").textContent = text; by("score-error").hidden = !text; };
  const going = (on) => {
    by("scoring-now").hidden = !on;
    by("stop").hidden = !on;
    by("score").disabled = on;
  };
  const boxes = () => [...form.querySelectorAll("[name=model]")];
  const chosen = () => boxes().filter((box) => box.checked).map((box) => box.value);

  const stop = (job) => send(`/editor/jobs/${job.id}/stop.json`, { json: {} });

  const start = async () => {
    const models = chosen();
    fail(models.length ? "" : "Choose a model.");
    if (!models.length) return;
    [stopped, results] = [false, []];
    going(true);
    stage({ stage: "waiting", done: 0, total: 0 });
    try {
      await flush();
      jobs = [];
      for (const model of models) {
        if (stopped) break;
        const job = await read(await send(`/editor/${id}/score.json`, { json: { model } }));
        jobs.push(job);
        if (stopped) stop(job); // while it was on its way
      }
      const faults = [];
      for (const job of jobs) {
        const ended = await follow(job, models.length > 1);
        if (ended.stage === "failed") faults.push(models.length > 1 ? `${job.model}: ${ended.error}` : ended.error);
        else if (ended.stage === "done") await add(ended.run);
      }
      fail(faults.join("\n"));
    } catch (error) {
      fail(error instanceof TypeError ? "The server does not respond." : error.message);
    } finally {
      jobs = [];
      going(false);
    }
  };

  const follow = async (job, several) => {
    for (;;) {
      const now = await read(await fetch(`/editor/jobs/${job.id}.json`, { headers: { Accept: "application/json" } }));
      stage(now, several ? job.model : "");
      if (["done", "failed", "stopped"].includes(now.stage)) return now;
      await new Promise((done) => setTimeout(done, LOOK));
    }
  };

  const stage = (now, model = "") => {
    const bar = by("progress");
    const counted = now.stage === "scoring" && now.total;
    if (counted) { bar.max = now.total; bar.value = now.done; } else bar.removeAttribute("value");
    const words = now.stopping || stopped ? "Stopping" : STAGES[now.stage] ?? "";
    const who = model ? `${model}: ` : "";
    by("stage").textContent = counted ? `${who}${words}: ${now.done} of ${now.total} sentences` : `${who}${words}…`;
  };

  const add = async (run) => {
    const found = await read(await fetch(`/editor/runs/${run}.json`, { headers: { Accept: "application/json" } }));
    for (const item of Object.values(found.items)) {
      const total = item.held.length + item.failed.length;
      item.kind = item.failed.length ? "fails" : "holds";
      item.verdict = !total ? "" : item.failed.length ? `✗ ${item.failed.map((index) => index + 1).join(", ")}` : "✓";
    }
    results.push(found);
    localStorage.setItem(key, JSON.stringify(results.map((one) => one.run)));
    await show(results[0] === found || !result ? found : result);
  };

  const show = async (found) => {
    const other = result !== found;
    result = found;
    by("result").hidden = false;
    models();
    if (!other) return;
    by("run-link").textContent = `Run ${found.run}`;
    by("run-link").href = `/run/${found.run}`;
    by("run-model").textContent = found.name;
    by("run-model").title = found.model;
    by("estimates").tBodies[0].replaceChildren(...found.metrics.map((row) => {
      const line = document.createElement("tr");
      const name = element("th", "", row.name);
      name.scope = "row";
      if (row.meaning) name.title = row.meaning;
      line.append(name, element("td", "num", row.text), element("td", "", row.interval || "–"), element("td", "num", String(row.n)));
      return line;
    }));
    by("few").textContent = found.few;
    by("run-warnings").replaceChildren(...found.warnings.map((text) => element("li", "", text)));
    numbers(found.chart);
    marks(found);
    redraw();
    if (found.chart) await draw(by("chart"), found.chart.spec);
    else by("chart").replaceChildren();
  };

  /* For several models: one row each, and the details of one. */
  const models = () => {
    by("models-result").hidden = results.length < 2;
    by("compare-link").hidden = results.length < 2;
    if (results.length < 2) return;
    by("compare-link").href = `/compare?${new URLSearchParams(results.map(({ run }) => ["run", run]))}`;
    const names = results[0].metrics.map(({ metric, name }) => [metric, name]);
    const head = document.createElement("tr");
    head.append(element("th", "", "model"), ...names.map(([, name]) => element("th", "num", name)));
    for (const one of head.children) one.scope = "col";
    by("models-result").tHead.replaceChildren(head);
    by("models-result").tBodies[0].replaceChildren(...results.map((found) => {
      const line = document.createElement("tr"), name = document.createElement("th"), pick = element("button", "link", found.name);
      name.scope = "row";
      pick.type = "button";
      pick.title = found.model;
      pick.setAttribute("aria-pressed", String(found === result));
      pick.addEventListener("click", () => show(found));
      name.append(pick);
      line.append(name, ...names.map(([metric]) => element("td", "num", found.metrics.find((row) => row.metric === metric)?.text ?? "–")));
      return line;
    }));
  };

  const numbers = (chart) => {
    const table = by("chart-numbers");
    table.replaceChildren();
    if (!chart) return;
    const head = table.createTHead().insertRow();
    head.append(...chart.columns.map((text) => { const made = element("th", "", text); made.scope = "col"; return made; }));
    const body = table.createTBody();
    for (const row of chart.rows) body.insertRow().append(...row.map((text) => element("td", "", text)));
  };

  /* Apply the result to the current suite. */
  const redraw = () => {
    if (!result) return;
    const now = current();
    held(now.predictions.map(({ text }) => result.metrics.find((row) => row.formula === text) ?? null));
    by("stale").hidden = same(now);
  };
  const compared = new WeakMap();
  const sameItem = (item) => {
    const known = compared.get(item);
    if (known?.result === result) return known.same;
    const found = result.items[String(item.number)];
    const same = Boolean(found) && item.rows.every((row) => found.conditions[row.condition.trim()]?.length === row.cells.length
      && found.conditions[row.condition.trim()].every((one, c) => one.content === row.cells[c].trim()));
    compared.set(item, { result, same });
    return same;
  };
  const same = (now) =>
    now.items.length === Object.keys(result.items).length &&
    now.predictions.every(({ text }) => result.metrics.some((row) => row.formula === text)) &&
    now.items.every(sameItem);

  form?.addEventListener("submit", (event) => { event.preventDefault(); if (!jobs.length) start(); });
  by("stop")?.addEventListener("click", () => {
    stopped = true;
    jobs.forEach(stop);
  });
  if (form) {
    const before = (localStorage.getItem("wug-models") ?? "").split("\n");
    const there = boxes().filter((box) => before.includes(box.value));
    if (there.length) for (const box of boxes()) box.checked = there.includes(box);
    form.addEventListener("change", () => localStorage.setItem("wug-models", chosen().join("\n")));
  }

  return {
    redraw,
    restore: async () => {
      try { for (const run of [JSON.parse(localStorage.getItem(key)) ?? []].flat()) await add(run); } catch { localStorage.removeItem(key); }
    },
  };
};
