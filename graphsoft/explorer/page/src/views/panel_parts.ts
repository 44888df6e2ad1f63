/** What the panel is made of: sections, lists, bars, and points with their pictures and texts. */
import type { Data } from "../data.ts";
import { button, element } from "../dom.ts";
import { percent, shortened } from "../format.ts";
import { pictureOf } from "../pictures.ts";
import type { Store } from "../state.ts";
import { clusterButton, pointButton } from "./buttons.ts";

export const MIN_CHANCE = 0.005; // smaller ones are not listed
const PICTURE = 48;
const SHORT_TEXT = 140;

/** What all parts of the panel know. */
export interface Known {
  data: Data;
  store: Store;
}

/** What the panel is about, and a button that closes it. */
export function heading(title: string, what: string, close: () => void): HTMLElement {
  return element(
    "div",
    { class: "heading" },
    element("h2", { dir: "auto", tabindex: -1 }, title),
    button("\u2715", close, { "aria-label": `Close ${what}`, class: "close" }),
  );
}

/** A cluster with its part of something. */
export function bar(node: number, share: number, { data, store }: Known): HTMLElement {
  return row(clusterButton(node, data, store), percent(share), share);
}

/** A feature or a label with its part of something. */
export function textBar(text: string, value: string, share: number, negative = false): HTMLElement {
  return row(element("span", { class: "feature", dir: "auto" }, text), value, share, negative);
}

function row(what: HTMLElement, value: string, share: number, negative = false): HTMLElement {
  const number = element("span", { class: "value" }, value);
  return element("div", { class: "row" }, what, meter(share, negative), number);
}

/** A point with its name, picture and the beginning of its text. */
export async function example(point: number, { data, store }: Known): Promise<HTMLElement> {
  const [title, texts, picture] = await Promise.all([
    data.titleOfPoint(point),
    data.texts("texts"),
    pictureOf(point, PICTURE, data),
  ]);
  const short = shortened(texts?.[point] ?? "", SHORT_TEXT);
  return element(
    "div",
    { class: "example" },
    picture,
    element("div", {}, pointButton(point, title, store), short ? element("p", { dir: "auto" }, short) : null),
  );
}

/** Points below the clusters of a level that they belong to, each with a word before it. */
export async function byCluster(
  word: string,
  pairs: Iterable<[cluster: number, point: number]>,
  level: number,
  known: Known,
): Promise<HTMLElement[]> {
  const groups = new Map<number, number[]>();
  for (const [cluster, point] of pairs) {
    const points = groups.get(cluster);
    if (points) points.push(point);
    else groups.set(cluster, [point]);
  }
  const { data, store } = known;
  const parts: HTMLElement[] = [];
  for (const [cluster, points] of groups) {
    const of = clusterButton(data.nodeAt(level, cluster), data, store);
    parts.push(element("div", { class: "between" }, `${word} `, of));
    parts.push(...(await Promise.all(points.map((point) => example(point, known)))));
  }
  return parts;
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
function meter(share: number, negative = false): HTMLElement {
  const fill = element("span", { class: negative ? "fill negative" : "fill" });
  fill.style.width = `${Math.min(Math.max(100 * share, 1), 100)}%`;
  return element("span", { class: "meter", "aria-hidden": "true" }, fill);
}
