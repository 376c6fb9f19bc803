/* Charts with a legend of buttons, strips of dots, and blocks to copy, for report and site. */
window.wugCharts = (() => {
  "use strict";
  const SVG = "http://www.w3.org/2000/svg";
  const GAP = 28;  // pixels from one label to the next

  const element = (name, given = {}, ...inside) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
    made.append(...inside);
    return made;
  };
  const button = (words, act) => {
    const made = element("button", { type: "button" }, words);
    made.addEventListener("click", () => act(made));
    return made;
  };
  const drawn = (name, given) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(given)) made.setAttribute(key, value);
    return made;
  };

  // Line and shape of a legend entry.
  const sample = (colour, { shape, dash, hollow }) => {
    const picture = drawn("svg", { viewBox: "-13 -7 26 14", width: 26, height: 14, "aria-hidden": "true" });
    const paint = colour ? `var(--chart-${colour})` : "currentColor";
    if (dash) picture.append(drawn("path", { d: "M-13,0H13", stroke: paint, "stroke-width": 2, "stroke-dasharray": dash.join(" "), fill: "none" }));
    if (shape) picture.append(drawn("path", { d: shape, transform: "scale(5)", fill: hollow ? "var(--card)" : paint, stroke: paint, "stroke-width": .3 }));
    return picture;
  };

  // One button per series: a pressed one shows only its series.
  const legend = (given) => {
    const box = element("div", { class: "legend", role: "group", "aria-label": `Choose a ${given.of}` });
    for (const key of given.keys) {
      const button = element("button", { type: "button", class: "key", "aria-pressed": "false" }, sample(key.colour, key), element("span", {}, key.name));
      button.wugKey = key;
      button.wugPlace = box.children.length;
      box.append(button);
    }
    for (const [place, model] of (given.models ?? []).entries()) {
      const look = { shape: given.keys[0].shape, dash: place ? [5, 4] : [1, 0], hollow: place > 0 };
      box.append(element("span", { class: "key" }, sample(0, look), element("span", {}, model)));
    }
    return box;
  };
  const obey = (box, view, param) => {
    box.addEventListener("click", async ({ target }) => {
      const chosen = target.closest("button");
      if (!chosen) return;
      await box.wugChoose(chosen.getAttribute("aria-pressed") === "false" ? [chosen.wugKey.name] : []);
    });
    box.wugChoose = async (names) => {
      for (const one of box.querySelectorAll("button")) one.setAttribute("aria-pressed", String(names.includes(one.wugKey.name)));
      for (const one of document.querySelectorAll("[data-conditions][aria-pressed=true]")) one.setAttribute("aria-pressed", "false");
      await view.signal(param, names).runAsync();
    };
  };

  // The button of a prediction shows the conditions that it compares, and fades the others.
  const offer = (box) => {
    const known = new Set([...box.querySelectorAll("button")].map(({ wugKey }) => wugKey.name));
    const around = box.closest("section.result, main");
    for (const button of around?.querySelectorAll("[data-conditions]") ?? []) {
      const names = button.dataset.conditions.split("\n");
      if (!button.hidden || !names.every((name) => known.has(name))) continue;
      button.hidden = false;
      button.addEventListener("click", async () => {
        const press = button.getAttribute("aria-pressed") === "false";
        await box.wugChoose(press ? names : []);
        button.setAttribute("aria-pressed", String(press));
        if (press) box.closest("figure").scrollIntoView({ block: "center" });
      });
    }
  };

  // If there is space, the buttons are placed at the ends of their lines.
  const label = (box, view) => {
    const buttons = [...box.querySelectorAll("button")].sort((a, b) => a.wugPlace - b.wugPlace);
    const beside = getComputedStyle(box.parentElement).flexDirection === "row";
    if (!beside || !buttons.every(({ wugKey }) => Number.isFinite(wugKey.end))) {
      box.prepend(...buttons);
      return;
    }
    const scale = view.scale("y"), [, top] = view.origin();
    buttons.sort((a, b) => scale(a.wugKey.end) - scale(b.wugKey.end));
    const lowest = view.height() + top - GAP / 2;
    const at = buttons.map(({ wugKey }) => scale(wugKey.end) + top - GAP / 2);
    for (let i = 0; i < at.length; i += 1) at[i] = Math.max(at[i], i ? at[i - 1] + GAP : 0);
    for (let i = at.length - 1; i >= 0; i -= 1) at[i] = Math.min(at[i], i === at.length - 1 ? lowest : at[i + 1] - GAP);
    buttons.forEach((button, i) => {
      button.style.setProperty("--down", `${Math.max(0, at[i] - (i ? at[i - 1] + GAP : 0))}px`);
      box.insertBefore(button, box.querySelector("span.key"));
    });
  };

  // Draw into `place`; its content stays until the chart is ready.
  const draw = async (place, spec, options) => {
    const given = spec.usermeta?.legend;
    const stage = element("div", { class: "live" });
    const frame = element("div", { class: "drawn loading" }, stage);
    const box = given && legend(given);
    if (box) {
      frame.classList.add(given.keys.every(({ end }) => Number.isFinite(end)) ? "labelled" : "keyed");
      frame.append(box);
    }
    place.append(frame);
    try {
      await document.fonts?.load("12px Inter");
      const made = await window.vegaEmbed(stage, spec, options);
      while (frame.previousSibling) frame.previousSibling.remove();  // a later one, still loading, stays
      frame.classList.remove("loading");
      if (box) {
        obey(box, made.view, given.param);
        offer(box);
        label(box, made.view);
        made.view.addResizeListener(() => label(box, made.view));
      }
      return made;
    } catch (error) {
      frame.remove();
      throw error;
    }
  };

  // A strip is one tab stop: arrows move between items, Enter opens one.
  const strip = (box) => {
    const dots = [...box.querySelectorAll("circle, rect")], said = box.querySelector("output");
    const usual = said.textContent;
    let at = -1;
    const tell = (place) => {
      dots[at]?.classList.remove("at");
      at = place;
      dots[at]?.classList.add("at");
      said.textContent = dots[at]?.querySelector("title").textContent ?? usual;
    };
    const go = (dot) => { if (dot?.dataset.go) location.assign(dot.dataset.go); };
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1 }[event.key];
      if (step) tell(Math.min(dots.length - 1, Math.max(0, at < 0 && step < 0 ? dots.length - 1 : at + step)));
      else if (event.key === "Home") tell(0);
      else if (event.key === "End") tell(dots.length - 1);
      else if (event.key === "Enter") go(dots[at]);
      else return;
      event.preventDefault();
    });
    const nearest = ({ clientX, clientY }) => {
      let best = -1, least = 14;
      dots.forEach((dot, place) => {
        const { left, top, width, height } = dot.getBoundingClientRect();
        const far = Math.hypot(left + width / 2 - clientX, top + height / 2 - clientY);
        if (far < least) { best = place; least = far; }
      });
      return best;
    };
    box.addEventListener("pointermove", (event) => tell(nearest(event)));
    box.addEventListener("pointerleave", () => tell(-1));
    box.addEventListener("focusout", () => tell(-1));
    box.addEventListener("click", (event) => { const place = nearest(event); tell(place); go(dots[place]); });
    box.classList.toggle("goes", Boolean(dots[0]?.dataset.go));
  };

  // Replace CSS variables by their colours for a standalone picture.
  const save = (plot, name) => {
    const picture = plot.querySelector(".live svg, :scope > svg")?.cloneNode(true);
    if (!picture) return;
    picture.setAttribute("xmlns", SVG);
    const text = new XMLSerializer().serializeToString(picture).replace(/var\(--[\w-]+, (#\w+)\)/g, "$1");
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })), download: `${name}.svg` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };

  // A button that copies the code of a block, or selects it where a page may not write to the clipboard.
  const copyable = (block) => {
    const copy = (made) => {
      const code = block.querySelector("code");
      const say = (word) => { made.textContent = word; setTimeout(() => { made.textContent = "Copy"; }, 1500); };
      const pick = () => { getSelection().selectAllChildren(code); say("Selected"); };
      if (!navigator.clipboard) return pick();
      return navigator.clipboard.writeText(code.textContent).then(() => say("Copied"), pick);
    };
    const frame = element("div", { class: "copying" });
    block.replaceWith(frame);
    frame.append(block, button("Copy", copy));
  };

  return { draw, strip, save, element, button, copyable };
})();
