/* Predictions: one formula each, checked while it is edited. Below it is its meaning, or a caret under the error. */
import { makeBuilder, parseSimple } from "./editor-builder.js";
import * as model from "./editor-model.js";
import { element } from "./site.js";

export const makePredictions = (list, { state, change, here }) => {
  let said = [], held = [];

  const button = (text, label, act) => {
    const made = element("button", "", text);
    made.type = "button";
    made.setAttribute("aria-label", label);
    made.title = label;
    made.addEventListener("click", act);
    return made;
  };
  /* Fit the height to the text; measuring forces a layout, so it is done only for changed texts. */
  const grow = (field) => {
    const now = `${field.value}\0${innerWidth}`;
    if (field.fitted === now) return;
    field.fitted = now;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight + 2}px`;
  };

  const entry = (index) => {
    const made = element("li", "prediction");
    const field = element("textarea", "formula-field");
    field.id = `prediction-${index}`;
    field.rows = 1;
    field.spellcheck = false;
    field.autocapitalize = "off";
    field.placeholder = "(3;%match%) < (3;%mismatch%)";
    field.setAttribute("aria-label", `Prediction ${index + 1}`);
    field.setAttribute("aria-describedby", `prediction-${index}-said`);
    field.addEventListener("input", () => {
      const text = field.value.replace(/\s*[\r\n]+\s*/g, " ");
      grow(field);
      change(model.setPrediction(state(), index, text), `prediction ${index}`);
    });
    field.addEventListener("keydown", (event) => {
      if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        event.preventDefault();
        const by = event.key === "ArrowUp" ? -1 : 1;
        change(model.movePrediction(state(), index, by));
        list.querySelectorAll(".formula-field")[index + by]?.focus();
      }
      if (event.key === "Enter") event.preventDefault();
    });
    const builder = makeBuilder((text) => change(model.setPrediction(state(), index, text)));
    made.builder = builder.parts;
    const formula = element("div", "formula-part");
    formula.append(field);
    const toggle = button("Formula", "Show or hide the formula", () => { made.shown = formula.hidden; draw(); });
    toggle.classList.add("toggle");
    const tools = element("div", "tools");
    tools.append(
      toggle,
      picker(field, index),
      button("↑", "Move prediction up", () => change(model.movePrediction(state(), index, -1))),
      button("↓", "Move prediction down", () => change(model.movePrediction(state(), index, 1))),
      button("✕", "Remove prediction", () => change(model.removePrediction(state(), index))),
    );
    const words = element("div", "said");
    words.id = `prediction-${index}-said`;
    words.setAttribute("role", "status");
    made.append(builder.made, formula, words, tools);
    return made;
  };

  /* Insert a region of a condition at the caret. */
  const picker = (field, index) => {
    const made = element("span", "picker");
    const region = element("select"), condition = element("select");
    region.setAttribute("aria-label", "Region to insert");
    condition.setAttribute("aria-label", "Condition to insert");
    region.className = "regions";
    condition.className = "conditions";
    made.append(region, condition, button("Insert", "Insert this region of this condition into the formula", () => {
      const text = `(${region.value};%${condition.value}%)`;
      field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
      field.dispatchEvent(new Event("input"));
      field.focus();
    }), button("From the grid", "Insert the selected cell of the grid into the formula", () => {
      const cell = here();
      region.value = String(cell.region + 1);
      condition.value = cell.condition.trim();
      made.querySelector("button").click();
    }));
    return made;
  };

  const options = (select, values) => {
    const before = select.value;
    if ([...select.options].map((one) => `${one.value}\n${one.textContent}`).join("\0") === values.map(([v, t]) => `${v}\n${t}`).join("\0")) return;
    select.replaceChildren(...values.map(([value, text]) => {
      const option = element("option", "", text);
      option.value = value;
      return option;
    }));
    if (values.some(([value]) => value === before)) select.value = before;
  };

  const draw = () => {
    const now = state();
    while (list.children.length > now.predictions.length) list.lastElementChild.remove();
    while (list.children.length < now.predictions.length) list.append(entry(list.children.length));
    const regions = [...now.regions.map((name, c) => [String(c + 1), `${c + 1} ${name}`.trim()]), ["*", "* whole sentence"]];
    const conditions = model.conditionsOf(now).map((name) => [name.trim(), name.trim()]);
    now.predictions.forEach(({ text }, index) => {
      const made = list.children[index];
      const field = made.querySelector(".formula-field");
      if (field.value !== text) field.value = text;
      build(made, parseSimple(text, now.regions), regions, conditions);
      grow(field);
      options(made.querySelector(".regions"), regions);
      options(made.querySelector(".conditions"), conditions);
      speak(made.querySelector(".said"), field, said[index], held[index]);
    });
  };

  /* The builder shows a simple comparison; anything else, and what is being written, is shown as a formula. */
  const build = (made, simple, regions, conditions) => {
    const { region, first, sign, second } = made.builder;
    options(region, regions);
    options(first, conditions);
    options(second, conditions);
    const fits = simple && [[region, simple.region], [first, simple.first], [second, simple.second]]
      .every(([select, value]) => [...select.options].some((option) => option.value === value));
    if (fits) for (const name of ["region", "first", "sign", "second"]) made.builder[name].value = simple[name];
    sign.closest(".builder").hidden = !fits;
    const formula = made.querySelector(".formula-part"), writing = formula.contains(document.activeElement);
    made.shown ??= !fits;
    formula.hidden = fits && !made.shown && !writing;
    made.querySelector(".picker").hidden = formula.hidden;
    const toggle = made.querySelector(".toggle");
    toggle.hidden = !fits;
    toggle.setAttribute("aria-expanded", String(!formula.hidden));
  };

  const speak = (words, field, answer, score) => {
    field.classList.toggle("wrong", Boolean(answer?.error && !answer.empty));
    field.setAttribute("aria-invalid", String(Boolean(answer?.error)));
    const parts = [];
    if (answer?.english) parts.push(element("p", "english", `${answer.english[0].toUpperCase()}${answer.english.slice(1)}.`));
    else if (answer?.empty) parts.push(element("p", "hint", answer.error));
    else if (answer?.error) parts.push(element("p", "fault-words", answer.error), element("pre", "caret", answer.caret));
    if (score) parts.push(element("p", "held", `holds for ${score.text} of ${score.n} ${score.n === 1 ? "item" : "items"} ${score.interval ?? ""}`.trim()));
    if (words.dataset.now === JSON.stringify([answer, score])) return;
    words.dataset.now = JSON.stringify([answer, score]);
    words.replaceChildren(...parts);
  };

  return {
    draw,
    setSaid: (answers) => { said = answers; draw(); },
    setHeld: (scores) => { held = scores; draw(); },
    focusBuilder: (index) => list.children[index]?.querySelector(".builder select").focus(),
    focus: (index) => {
      const made = list.children[index];
      if (!made) return;
      made.shown = true;
      draw();
      made.querySelector(".formula-field").focus();
    },
  };
};
