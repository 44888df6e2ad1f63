/** The chosen point: its clusters on every level, and the points next to it, which say why it is torn. */
import { entries, SHARE, type Shares } from "../data.ts";
import { element } from "../dom.ts";
import { plural } from "../format.ts";
import { pictureOf } from "../pictures.ts";
import { bar, byCluster, heading, likely, list, section, type Known } from "./panel_parts.ts";

const PICTURE = 96;
const CERTAIN = 0.8; // a point with a larger share of one cluster is not called torn

export async function pointParts(point: number, known: Known): Promise<HTMLElement[]> {
  const { data, store } = known;
  const [title, texts, labels, points, picture, levels] = await Promise.all([
    data.titleOfPoint(point),
    data.texts("texts"),
    data.texts("labels"),
    data.points(),
    pictureOf(point, PICTURE, data),
    Promise.all(data.levels.map((_, level) => data.shares(level))),
  ]);
  const label = points.label ? labels?.[points.label[point]!] : undefined;
  const close = (): void => {
    store.set({ point: null });
  };
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
    heading(title, "point", close),
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
  const close = [...entries(await known.data.close(), point)];
  if (!close.length) return [];
  const pairs = close.map(([other]): [number, number] => [shares.column[shares.start[other]!]!, other]);
  const parts = await byCluster("in", pairs, known.store.state.level, known);
  const torn = shares.value[shares.start[point]!]! < CERTAIN * SHARE;
  const title = torn ? "Why it is torn: the points next to it" : "The points next to it";
  return section(title, ...parts);
}
