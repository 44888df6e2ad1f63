/** The legend of the map: which color stands for which label. */
import type { Labels } from "../data.ts";
import { element } from "../dom.ts";
import { colorAt, count } from "../format.ts";
import { swatch } from "./buttons.ts";

const MOST = 12;

export function legendOf({ texts, color }: Labels): HTMLElement {
  const rows = texts.slice(0, MOST).map((text, at) => {
    return element("li", {}, swatch(colorAt(color, at)), element("bdi", {}, text));
  });
  const more = texts.length - MOST;
  if (more > 0) rows.push(element("li", { class: "faint" }, `and ${count(more)} more`));
  return element("ul", { class: "legend", "aria-label": "Colors of labels" }, ...rows);
}
