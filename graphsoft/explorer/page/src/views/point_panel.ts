/** The chosen point: its clusters on every level, and the points next to it, which say why it is torn. */
import { entries, SHARE, type Shares } from "../data.ts";
import { button, element } from "../dom.ts";
import { plural } from "../format.ts";
import { clusterButton } from "./buttons.ts";
import { bar, example, likely, list, section, type Known } from "./panel_parts.ts";
import { titleOfPoint } from "./point_card.ts";

const PICTURE = 96;
const CERTAIN = 0.8; // a point with a larger share of one cluster is not called torn

export async function pointParts(point: number, known: Known): Promise<HTMLElement[]> {
  const { data, store, pictures } = known;
  const [title, texts, labels, points, picture, levels] = await Promise.all([
    titleOfPoint(point, data),
    data.texts("texts"),
    data.texts("labels"),
    data.points(),
    pictures.of(point, PICTURE),
    Promise.all(data.levels.map((_, level) => data.shares(level))),
  ]);
  const label = points.label ? labels?.[points.label[point]!] : undefined;
  const close = button(
    "\u2715",
    () => {
      store.set({ point: null });
    },
    { "aria-label": "Close point", class: "close" },
  );
  const memberships = levels.flatMap((shares, level) => {
    const bars = likely(entries(shares, point)).map(([index, share]) =>
      bar(data.nodeAt(level, index), share / SHARE, known),
    );
    const of = plural(data.levels[level]!.clusters, "cluster");
    return [element("p", { class: "faint" }, `Of ${of}`), list(bars)];
  });
  const box = element(
    "section",
    { class: "point", "aria-label": "Chosen point" },
    element("div", { class: "heading" }, element("h2", { dir: "auto", tabindex: -1 }, title), close),
    picture,
    texts?.[point] ? element("p", { class: "text", dir: "auto" }, texts[point]) : null,
    label === undefined ? null : element("p", { dir: "auto" }, `Label: ${label}`),
    ...section("Memberships", ...memberships),
    ...(await neighborParts(point, levels[store.state.level]!, known)),
  );
  return [box];
}

/** The nearest points, by their likeliest clusters on the level that maps show. */
async function neighborParts(point: number, shares: Shares, known: Known): Promise<HTMLElement[]> {
  const { data, store } = known;
  const { level } = store.state;
  const groups = new Map<number, number[]>();
  for (const [other] of entries(await data.close(), point)) {
    const cluster = shares.column[shares.start[other]!]!;
    groups.set(cluster, [...(groups.get(cluster) ?? []), other]);
  }
  if (!groups.size) return [];
  const parts = [];
  for (const [cluster, others] of groups) {
    const node = clusterButton(data.nodeAt(level, cluster), data, store);
    parts.push(element("div", { class: "between" }, "in ", node));
    parts.push(...(await Promise.all(others.map((other) => example(other, known)))));
  }
  const torn = shares.value[shares.start[point]!]! < CERTAIN * SHARE;
  const title = torn ? "Why it is torn: the points next to it" : "The points next to it";
  return section(title, ...parts);
}
