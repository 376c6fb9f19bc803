/* The builder of a prediction: a region in one condition is less or more surprising than in another. */
import { element } from "./site.js";

const SIMPLE = /^\s*\(\s*([^;()]+?)\s*;\s*%\s*([^%]+?)\s*%\s*\)\s*([<>])\s*\(\s*([^;()]+?)\s*;\s*%\s*([^%]+?)\s*%\s*\)\s*$/;

/* Region, first condition, sign and second condition of a formula, or null for one that the builder cannot show. */
export const parseSimple = (text, regions) => {
  const found = SIMPLE.exec(text);
  if (!found) return null;
  const number = (name) => { const at = regions.indexOf(name); return at < 0 ? name : String(at + 1); };
  const [, region, first, sign, other, second] = found;
  return number(region) === number(other) ? { region: number(region), first, sign, second } : null;
};

export const simpleText = ({ region, first, sign, second }) => `(${region};%${first}%) ${sign} (${region};%${second}%)`;

/* In a 2 × 2 design: the difference between the first two conditions is larger than between the others. */
export const interactionText = (region, [a, b, c, d]) => `((${region};%${b}%) - (${region};%${a}%)) > ((${region};%${d}%) - (${region};%${c}%))`;

export const makeBuilder = (write) => {
  const made = element("div", "builder");
  const select = (label) => { const one = element("select"); one.setAttribute("aria-label", label); return one; };
  const parts = { region: select("Region"), first: select("In this condition"), sign: select("Less or more surprising"), second: select("Than in this condition") };
  for (const [value, text] of [["<", "less"], [">", "more"]]) {
    const option = element("option", "", text);
    option.value = value;
    parts.sign.append(option);
  }
  made.append(parts.region, " in ", parts.first, " is ", parts.sign, " surprising than in ", parts.second);
  const now = () => Object.fromEntries(Object.entries(parts).map(([name, one]) => [name, one.value]));
  for (const one of Object.values(parts)) one.addEventListener("change", () => write(simpleText(now())));
  return { made, parts };
};
