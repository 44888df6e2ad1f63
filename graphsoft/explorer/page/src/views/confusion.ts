/**
 * The table of labels: how many points of each label are in each cluster of the chosen level. A cell selects
 * its points, and a cluster is chosen by its row.
 */
import { entries, type Data, type Labels } from "../data.ts";
import { element } from "../dom.ts";
import { colorAt, count, percent, plural } from "../format.ts";
import { pointsOf } from "../selecting.ts";
import { changesAny, type Store } from "../state.ts";
import { emphasizes, swatch } from "./buttons.ts";
import type { View, ViewKind } from "./view.ts";

const MOST_CLUSTERS = 80;
const MOST_LABELS = 30;
const DARKEST = 45; // percent of the accent in the fullest cell

export const CONFUSION: ViewKind = {
  id: "labels",
  title: "Labels",
  available: (data) => data.has("label_color"),
  mount: mountConfusion,
};

export interface Confusion {
  /** Indices of clusters and labels, in the order in which they are shown. */
  clusters: number[];
  labels: number[];
  /** Of all clusters: how many points of each label, by label. */
  counts: Map<number, number>[];
  /** The share of points whose label is the commonest one in their cluster. */
  purity: number;
}

/** Count, and put clusters and labels into an order in which those that belong together stand along a diagonal. */
export async function confusionOf(level: number, data: Data): Promise<Confusion> {
  const { classes } = await data.details(level);
  const { clusters, first, size } = data.levels[level]!;
  const counts = Array.from({ length: clusters }, (_, index) => new Map(entries(classes!, index)));
  const common = counts.map(largestOf);
  const purity = common.reduce((sum, points) => sum + points, 0) / Math.max(data.head.points, 1);
  const totals = new Map<number, number>();
  for (const row of counts)
    for (const [label, points] of row) totals.set(label, (totals.get(label) ?? 0) + points);
  const largest = [...size.keys()].sort((a, b) => size[b]! - size[a]! || a - b).slice(0, MOST_CLUSTERS);
  const frequent = [...totals].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, MOST_LABELS);
  // as the tree has them, so that clusters of one parent are side by side
  const order = inTreeOrder(data, level);
  const shown = largest.sort((a, b) => order.get(first + a)! - order.get(first + b)!);
  const home = (label: number): number => {
    let best = 0;
    for (const [row, index] of shown.entries())
      if ((counts[index]!.get(label) ?? 0) > (counts[shown[best]!]!.get(label) ?? 0)) best = row;
    return best;
  };
  const homes = new Map(frequent.map(([label]) => [label, home(label)]));
  const labels = frequent.map(([label]) => label).sort((a, b) => homes.get(a)! - homes.get(b)! || a - b);
  return { clusters: shown, labels, counts, purity };
}

/** Not by Math.max, which takes no more arguments than the stack holds. */
export function largestOf(counts: Map<number, number>): number {
  let most = 0;
  for (const points of counts.values()) most = Math.max(most, points);
  return most;
}

/** The clusters of a level from left to right in the tree. */
export function inTreeOrder(data: Data, level: number): Map<number, number> {
  const order = new Map<number, number>();
  const waiting = [data.root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (data.levelOf(node) === level) order.set(node, order.size);
    else for (const child of [...data.children(node)].reverse()) waiting.push(child);
  }
  return order;
}

function mountConfusion(place: HTMLElement, data: Data, store: Store): View {
  const table = element("table", { role: "grid", "aria-label": "Points of each label in each cluster" });
  const caption = element("p", { class: "faint" });
  place.replaceChildren(element("div", { class: "confusion" }, caption, table));
  let gone = false;
  let request = 0;
  let shown = -1; // the level
  let cells: HTMLElement[][] = [];
  let at: [row: number, column: number] = [0, 0];

  const show = async (): Promise<void> => {
    const mine = ++request;
    const { level } = store.state;
    const [found, labels] = await Promise.all([confusionOf(level, data), data.labels()]);
    if (gone || mine !== request || !labels) return;
    if (shown !== level) at = [0, 0];
    shown = level;
    const hadFocus = table.contains(document.activeElement);
    fill(level, found, labels);
    const { clusters } = data.levels[level]!;
    const parts = [
      `Purity ${percent(found.purity)}: the share of points with the commonest label of their cluster.`,
    ];
    if (found.clusters.length < clusters)
      parts.push(`The ${found.clusters.length} largest of ${plural(clusters, "cluster")} are shown.`);
    if (found.labels.length < labels.texts.length)
      parts.push(
        `The ${found.labels.length} most frequent of ${plural(labels.texts.length, "label")} are shown.`,
      );
    caption.textContent = parts.join(" ");
    goTo(at[0], at[1], hadFocus);
  };

  const fill = (level: number, found: Confusion, labels: Labels): void => {
    const { first, size } = data.levels[level]!;
    const heads = found.labels.map((label) => headOfLabel(label, labels));
    const top = [headOf("Cluster"), headOf("Points"), ...heads, headOf("Purity")];
    const rows = found.clusters.map((index) => {
      const counts = found.counts[index]!;
      const points = Math.max(size[index]!, 1);
      const row = [headOfCluster(first + index), number(count(size[index]!))];
      for (const label of found.labels)
        row.push(cell(index, label, counts.get(label) ?? 0, points, labels.texts[label]!));
      const purity = size[index] ? percent(largestOf(counts) / points) : "\u2013";
      row.push(number(purity));
      return row;
    });
    cells = [top, ...rows];
    for (const each of cells.flat()) each.tabIndex = -1;
    const lines = cells.map((row) => element("tr", { role: "row" }, ...row));
    table.replaceChildren(
      element("thead", { role: "rowgroup" }, lines[0]),
      element("tbody", { role: "rowgroup" }, ...lines.slice(1)),
    );
  };

  const headOf = (text: string): HTMLElement => element("th", { role: "columnheader", scope: "col" }, text);

  const number = (text: string): HTMLElement => element("td", { role: "gridcell", class: "value" }, text);

  const headOfLabel = (label: number, labels: Labels): HTMLElement => {
    const made = element(
      "th",
      { role: "columnheader", scope: "col", title: `Select all points of ${labels.texts[label]!}` },
      swatch(colorAt(labels.color, label)),
      element("bdi", {}, labels.texts[label]),
    );
    made.addEventListener("click", () => void select(null, label));
    return made;
  };

  const headOfCluster = (node: number): HTMLElement => {
    const title = store.titleOf(node);
    const made = element(
      "th",
      { role: "rowheader", scope: "row", "aria-selected": String(node === store.state.chosen), title },
      swatch(data.color(node)),
      element("bdi", {}, title),
    );
    made.addEventListener("click", () => {
      store.choose(node);
    });
    emphasizes(made, node, store);
    return made;
  };

  const cell = (index: number, label: number, points: number, size: number, text: string): HTMLElement => {
    const where = `of ${text} in ${store.titleOf(data.nodeAt(shown, index))}`;
    const made = element(
      "td",
      { role: "gridcell", class: "value", title: `${plural(points, "point")} ${where}` },
      points ? count(points) : "",
    );
    if (!points) {
      made.setAttribute("aria-label", "0");
      return made;
    }
    const part = Math.round((DARKEST * points) / size);
    made.style.backgroundColor = `color-mix(in srgb, var(--accent) ${part}%, var(--paper))`;
    made.addEventListener("click", () => void select(index, label));
    return made;
  };

  const select = async (cluster: number | null, label: number): Promise<void> => {
    const level = shown;
    const [shares, points] = await Promise.all([data.shares(level), data.points()]);
    const selected = pointsOf(cluster, label, shares, points);
    store.set({ selected: selected.length ? selected : null });
  };

  const goTo = (row: number, column: number, focus = true): void => {
    const inRows = Math.min(Math.max(row, 0), cells.length - 1);
    const inColumns = Math.min(Math.max(column, 0), (cells[0]?.length ?? 1) - 1);
    const before = cells[at[0]]?.[at[1]];
    if (before) before.tabIndex = -1;
    at = [inRows, inColumns];
    const here = cells[inRows]?.[inColumns];
    if (!here) return;
    here.tabIndex = 0;
    if (focus) here.focus();
  };

  table.addEventListener("keydown", (event) => {
    const [row, column] = at;
    if (event.key === "ArrowDown") goTo(row + 1, column);
    else if (event.key === "ArrowUp") goTo(row - 1, column);
    else if (event.key === "ArrowRight") goTo(row, column + 1);
    else if (event.key === "ArrowLeft") goTo(row, column - 1);
    else if (event.key === "Home") goTo(row, 0);
    else if (event.key === "End") goTo(row, Infinity);
    else if (event.key === "Enter" || event.key === " ") cells[row]?.[column]?.click();
    else return;
    event.preventDefault();
  });
  table.addEventListener("focusin", (event) => {
    for (const [row, line] of cells.entries()) {
      const column = line.indexOf(event.target as HTMLElement);
      if (column >= 0) goTo(row, column, false);
    }
  });

  const stop = store.subscribe((_, changed) => {
    if (changesAny(changed, "level", "names", "chosen")) void show();
  });
  void show();
  return {
    resize: () => undefined,
    destroy: () => {
      gone = true;
      stop();
      place.replaceChildren();
    },
  };
}
