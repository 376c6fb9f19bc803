/* "Score it now": a job on the server, how far it is, and what came out of it beside the grid. */
const LOOK = 400;
const STAGES = { waiting: "Waiting for other work", loading: "Loading the model", asking: "Asking the model" };

export const makeScoring = (id, { flush, marks, held, current }) => {
  const by = (name) => document.getElementById(name);
  const form = by("score-form");
  const key = `wug-run-${id}`;
  let job = null, result = null;

  const element = (tag, text, className = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  };
  const fail = (text) => { by("score-error").textContent = text; by("score-error").hidden = !text; };
  const going = (on) => {
    by("scoring-now").hidden = !on;
    by("stop").hidden = !on;
    by("score").disabled = on;
  };
  const read = async (answer) => {
    const said = answer.headers.get("Content-Type")?.startsWith("application/json") ? await answer.json() : { error: await answer.text() };
    if (!answer.ok) throw new Error(said.error);
    return said;
  };

  const start = async () => {
    fail("");
    going(true);
    stage({ stage: "waiting", done: 0, total: 0 });
    try {
      await flush();
      job = (await read(await wug.send(`/editor/${id}/score.json`, { json: { model: by("model").value } }))).id;
      await follow();
    } catch (error) {
      fail(error instanceof TypeError ? "The server does not answer." : error.message);
    } finally {
      job = null;
      going(false);
    }
  };

  const follow = async () => {
    for (;;) {
      const now = await read(await fetch(`/editor/jobs/${job}.json`, { headers: { Accept: "application/json" } }));
      stage(now);
      if (now.stage === "done") { await show(now.run); return; }
      if (now.stage === "failed") { fail(now.error); return; }
      if (now.stage === "stopped") return;
      await new Promise((done) => setTimeout(done, LOOK));
    }
  };

  const stage = (now) => {
    const bar = by("progress");
    const counted = now.stage === "asking" && now.total;
    if (counted) { bar.max = now.total; bar.value = now.done; } else bar.removeAttribute("value");
    const words = now.stopping ? "Stopping" : STAGES[now.stage] ?? "";
    by("stage").textContent = counted ? `${words}: ${now.done} of ${now.total} sentences` : `${words}…`;
  };

  const show = async (run) => {
    const found = await read(await fetch(`/editor/runs/${run}.json`, { headers: { Accept: "application/json" } }));
    result = found;
    localStorage.setItem(key, String(run));
    by("result").hidden = false;
    by("run-link").textContent = `Run ${found.run}`;
    by("run-link").href = `/run/${found.run}`;
    by("run-model").textContent = found.model;
    by("estimates").tBodies[0].replaceChildren(...found.checks.map((row) => {
      const line = document.createElement("tr");
      const name = element("th", row.name);
      name.scope = "row";
      if (row.reading) name.title = row.reading;
      line.append(name, element("td", row.text, "num"), element("td", row.interval || "–"), element("td", String(row.n), "num"));
      return line;
    }));
    by("run-warnings").replaceChildren(...found.warnings.map((text) => element("li", text)));
    numbers(found.chart);
    for (const item of Object.values(found.items)) {
      const total = item.held.length + item.failed.length;
      item.kind = item.failed.length ? "fails" : "holds";
      item.verdict = !total ? "" : item.failed.length ? `✗ ${item.failed.join(", ")}` : "✓";
    }
    marks(found);
    redraw();
    if (found.chart) await wug.draw(by("chart"), found.chart.spec);
    else by("chart").replaceChildren();
  };

  const numbers = (chart) => {
    const table = by("chart-numbers");
    table.replaceChildren();
    if (!chart) return;
    const head = table.createTHead().insertRow();
    head.append(...chart.columns.map((text) => element("th", text)));
    const body = table.createTBody();
    for (const row of chart.rows) body.insertRow().append(...row.map((text) => element("td", text)));
  };

  /* What the result says about the suite as it is now. */
  const redraw = () => {
    if (!result) return;
    const now = current();
    held(now.predictions.map(({ text }) => result.checks.find((row) => row.formula === text) ?? null));
    by("stale").hidden = same(now);
  };
  const same = (now) =>
    now.items.length === Object.keys(result.items).length &&
    now.predictions.every(({ text }) => result.checks.some((row) => row.formula === text)) &&
    now.items.every((item) => {
      const found = result.items[String(item.number)];
      return found && item.rows.every((row) => found.conditions[row.condition.trim()]?.length === row.cells.length
        && found.conditions[row.condition.trim()].every((one, c) => one.content === row.cells[c].trim()));
    });

  form?.addEventListener("submit", (event) => { event.preventDefault(); if (!job) start(); });
  by("stop")?.addEventListener("click", () => { if (job) wug.send(`/editor/jobs/${job}/stop.json`, { json: {} }); });
  const chosen = localStorage.getItem("wug-model");
  if (form && [...by("model").options].some((one) => one.value === chosen)) by("model").value = chosen;
  by("model")?.addEventListener("change", () => localStorage.setItem("wug-model", by("model").value));

  return {
    redraw,
    restore: () => { const run = localStorage.getItem(key); if (run) show(run).catch(() => localStorage.removeItem(key)); },
  };
};
