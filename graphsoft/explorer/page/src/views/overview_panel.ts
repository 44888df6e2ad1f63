/** The panel where no cluster is chosen: the clusters of the level, and the points that are the most torn. */
import { element } from "../dom.ts";
import { plural } from "../format.ts";
import { mostTorn } from "../selecting.ts";
import { bar, example, list, section, type Known } from "./panel_parts.ts";

const MOST_CLUSTERS = 12;
const MOST_TORN = 5;

export async function overviewParts(known: Known): Promise<HTMLElement[]> {
  const { data, store } = known;
  const { head } = data;
  const { mass, first, clusters } = data.levels[store.state.level]!;
  const order = [...mass.keys()].sort((a, b) => mass[b]! - mass[a]! || a - b);
  const total = data.mass(data.root);
  const heaviest = order
    .slice(0, MOST_CLUSTERS)
    .map((index) => bar(first + index, mass[index]! / total, known));
  const torn = mostTorn(await data.shares(store.state.level), MOST_TORN);
  const examples = await Promise.all(torn.map((point) => example(point, known)));
  const which = clusters > MOST_CLUSTERS ? `The ${MOST_CLUSTERS} heaviest of ` : "";
  return [
    element("h2", { tabindex: -1 }, "All points"),
    element("p", { class: "faint" }, "Choose a cluster in the tree or on the map."),
    ...section(`${which}${plural(clusters, "cluster")}`, list(heaviest)),
    ...(examples.length ? section("Most torn points on this level", ...examples) : []),
    ...(head.limits.length ? section("Left out", element("p", {}, head.limits.join("; "))) : []),
  ];
}
