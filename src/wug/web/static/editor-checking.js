/* Checks the suite like `wug check` while it is edited, with links to the cells. */
import { sentenceOf } from "./editor-model.js";
import { by, element, read, send } from "./site.js";

const CHECK = 250;

export const makeChecking = ({ state, textOf, predictions, grid, isNew }) => {
  let waiting = null, latest = 0;

  const check = async () => {
    const mine = (latest += 1), was = state();
    try {
      const body = `{"formulas":${JSON.stringify(was.predictions.map(({ text }) => text))},"document":${textOf()}}`;
      const answer = await send("/editor/check.json", { body, headers: { "Content-Type": "application/json" } });
      const said = await read(answer);
      if (mine !== latest) return;
      if (was.predictions.length === state().predictions.length) predictions.setSaid(said.predictions);
      problems(said.problems);
    } catch (error) {
      if (mine !== latest) return;
      by("verdict").textContent = error instanceof TypeError ? "Not checked: the server does not respond." : error.message;
      if (error instanceof TypeError) waiting = setTimeout(check, 3000);
    }
  };

  const problems = (all) => {
    // Nobody has made a mistake in a suite that has just been opened.
    const fresh = isNew(), found = fresh ? [] : all;
    const written = state().items.some(({ rows }) => rows.some(sentenceOf));
    const errors = found.filter(({ level }) => level === "error").length;
    const odd = found.length - errors;
    const count = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;
    by("verdict").className = `verdict ${fresh ? "" : errors ? "bad" : odd ? "odd" : "good"}`.trim();
    by("verdict").textContent = fresh ? `Give the suite a name${written ? "" : ", and write its sentences"}.` : errors
      ? `Not ready: ${count(errors, "error")} to fix.`
      : odd ? `Ready, with ${count(odd, "warning")}.` : "Ready: no problems found.";
    by("problems").replaceChildren(...found.map(problem));
    by("problems").hidden = !found.length;
    grid.setFaults(found.flatMap(({ level, places }) => places.map((place) => ({ ...place, level: level === "error" ? "fault" : "odd" }))));
  };

  const problem = ({ level, message, count, places }) => {
    const made = element("li", level);
    made.append(element("b", "", level === "error" ? "Error" : "Warning"), " ", element("span", "", `${message} `));
    places.slice(0, 3).forEach((place) => {
      const goes = [place.item, place.region, place.prediction, place.field].some((one) => one !== null);
      const text = place.place || "there";
      if (!goes) { if (place.place) made.append(`(${text}) `); return; }
      const link = element("button", "link", text);
      link.type = "button";
      link.addEventListener("click", () => goTo(place));
      made.append(link, " ");
    });
    if (count > 3) made.append(`and ${count - 3} more`);
    return made;
  };

  const goTo = (place) => {
    if (place.prediction !== null) predictions.focus(place.prediction);
    else if (place.field !== null) {
      const field = by(`meta-${place.field}`) ?? by(place.field)?.querySelector("input") ?? by("meta-name");
      field.closest("details")?.setAttribute("open", "");
      field.focus();
    } else grid.goTo(place);
  };

  /* Debounced. */
  return { soon: () => { clearTimeout(waiting); waiting = setTimeout(check, CHECK); } };
};
