/** What the panel is made of: sections, lists, bars, and points with their pictures and texts. */
import type { Data } from "../data.ts";
import { element } from "../dom.ts";
import { percent } from "../format.ts";
import type { Pictures } from "../pictures.ts";
import type { Store } from "../state.ts";
import { clusterButton, pointButton } from "./buttons.ts";
import { titleOfPoint } from "./point_card.ts";

export const MIN_CHANCE = 0.005; // smaller ones are not listed
const PICTURE = 48;
const SHORT_TEXT = 140;

/** What all parts of the panel know. */
export interface Known {
  data: Data;
  store: Store;
  pictures: Pictures;
}

/** A cluster with its part of something. */
export function bar(node: number, share: number, { data, store }: Known): HTMLElement {
  return element(
    "div",
    { class: "row" },
    clusterButton(node, data, store),
    meter(share),
    element("span", { class: "value" }, percent(share)),
  );
}

/** A point with its name, picture and the beginning of its text. */
export async function example(point: number, { data, store, pictures }: Known): Promise<HTMLElement> {
  const [title, texts, picture] = await Promise.all([
    titleOfPoint(point, data),
    data.texts("texts"),
    pictures.of(point, PICTURE),
  ]);
  const text = texts?.[point] ?? "";
  const short = text.length > SHORT_TEXT ? `${text.slice(0, SHORT_TEXT)}\u2026` : text;
  return element(
    "div",
    { class: "example" },
    picture,
    element("div", {}, pointButton(point, title, store), short ? element("p", { dir: "auto" }, short) : null),
  );
}

/** Those that are not nearly 0. */
export function likely(pairs: Iterable<[number, number]>): [number, number][] {
  return [...pairs].filter(([, chance]) => chance >= MIN_CHANCE);
}

export function section(title: string, ...parts: HTMLElement[]): HTMLElement[] {
  return [element("h3", {}, title), ...parts];
}

export function list(items: HTMLElement[]): HTMLElement {
  return element("ul", { class: "rows" }, ...items.map((item) => element("li", {}, item)));
}

/** A bar whose length is a share; the number beside it says the same in words. */
export function meter(share: number, negative = false): HTMLElement {
  const fill = element("span", { class: negative ? "fill negative" : "fill" });
  fill.style.width = `${Math.min(Math.max(100 * share, 1), 100)}%`;
  return element("span", { class: "meter", "aria-hidden": "true" }, fill);
}
