(() => {
  "use strict";
  const options = { mode: "vega-lite", renderer: "svg", ast: true, actions: false, hover: true };

  // A chart replaces its SVG when it scrolls into view.
  const wake = (data) => {
    const plot = document.getElementById(data.dataset.chart);
    wugCharts.draw(plot, JSON.parse(data.textContent), options).catch((error) => console.error(error));
  };
  const charts = new Map();
  const watch = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      watch.unobserve(target);
      wake(charts.get(target));
    }
  }, { rootMargin: "400px" });
  const prepare = (root) => {
    for (const data of root.querySelectorAll("script[data-chart]")) {
      const plot = document.getElementById(data.dataset.chart);
      charts.set(plot, data);
      if (window.vegaEmbed) watch.observe(plot);
      plot.after(wugCharts.button("Save as SVG", () => wugCharts.save(plot, plot.id)));
    }

    for (const box of root.querySelectorAll("[data-strip]")) wugCharts.strip(box);

    for (const block of root.querySelectorAll("pre.copy")) wugCharts.copyable(block);

    for (const items of root.querySelectorAll(".items")) {
      const all = items.querySelectorAll(":scope > details");
      if (all.length < 2) continue;
      items.before(wugCharts.button("Open all", (button) => {
        const open = button.textContent === "Open all";
        for (const one of all) one.open = open;
        button.textContent = open ? "Close all" : "Open all";
      }));
    }
  };
  prepare(document);

  // What is folded is text in a noscript element until it is opened.
  const fill = (box) => {
    const folded = box.querySelector(":scope > noscript");
    if (!folded) return;
    const made = document.createElement("div");
    made.innerHTML = folded.textContent;
    folded.replaceWith(made);
    prepare(made);
  };
  for (const box of document.querySelectorAll("details")) box.addEventListener("toggle", () => { if (box.open) fill(box); });

  // A link to an element opens all collapsed sections around it.
  const unfold = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const around = id && document.querySelector(`[data-holds~="${CSS.escape(id)}"]`);
    if (around) fill(around);
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let box = target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  document.addEventListener("click", ({ target }) => {
    const link = target.closest?.('a[href^="#"]');
    if (link && link.hash === location.hash) unfold();
  });
  unfold();
})();
