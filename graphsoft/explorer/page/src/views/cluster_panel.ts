/** The chosen cluster: its numbers, its parents, children and neighbors, what sets it apart, and its points. */
import { entries, type Details, type Rows } from "../data.ts";
import { button, element } from "../dom.ts";
import { count, number, percent, plural } from "../format.ts";
import { pointsOf } from "../selecting.ts";
import {
  bar,
  byCluster,
  example,
  heading,
  likely,
  list,
  MIN_CHANCE,
  section,
  textBar,
  type Known,
} from "./panel_parts.ts";

const MOST_CHILDREN = 12;
const MOST_CLASSES = 6;

export async function clusterParts(node: number, known: Known): Promise<HTMLElement[]> {
  const { data, store } = known;
  const level = data.levelOf(node);
  const index = data.indexOf(node);
  const [links, below, details, features, labels] = await Promise.all([
    data.links(level),
    level ? data.links(level - 1) : null,
    data.details(level),
    data.texts("features"),
    data.texts("labels"),
  ]);
  const close = (): void => {
    store.choose(null);
  };
  const parts = [heading(store.titleOf(node), "cluster", close), renamer(node, known)];
  parts.push(numbers(node, details, known), ...stability(index, details, known), selector(node, known));
  const above = data.levels[level + 1];
  if (links.parents && above) {
    const rows = likely(entries(links.parents, index)).map(([parent, chance]) =>
      bar(above.first + parent, chance, known),
    );
    parts.push(...section("Parents", list(rows)));
  }
  if (below?.parents) {
    const rows = childrenOf(node, below.parents, known).map(([child, chance]) => bar(child, chance, known));
    parts.push(...section("Children, with the chance to be in this one", list(rows)));
  }
  const near = likely(entries(links.near, index)).map(([other, chance]) =>
    bar(data.nodeAt(level, other), chance, known),
  );
  if (near.length) parts.push(...section("Nearest clusters, by the chance of one step", list(near)));
  if (details.apart && features) parts.push(...apart(index, details.apart, features, known));
  if (details.classes && labels) parts.push(...classes(node, details.classes, labels, known));
  const central = [...entries(details.central, index)].map(([point]) => example(point, known));
  if (central.length) parts.push(...section("Most central points", ...(await Promise.all(central))));
  const torn = await byCluster("and", entries(details.torn, index), level, known);
  if (torn.length) parts.push(...section("Most torn between this", ...torn));
  return parts;
}

function renamer(node: number, { data, store }: Known): HTMLElement {
  const name = element("input", {
    type: "text",
    id: "rename",
    maxlength: 200,
    placeholder: "Name this cluster",
    "aria-label": `Name of cluster ${data.id(node)}`,
  });
  name.value = store.nameOf(node);
  const form = element("form", { class: "rename" }, name, element("button", {}, "Rename"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    store.rename(node, name.value);
  });
  return form;
}

function numbers(node: number, details: Details, { data }: Known): HTMLElement {
  const index = data.indexOf(node);
  const share = data.mass(node) / data.mass(data.root);
  const facts: [string, string][] = [
    ["Cluster", data.id(node)],
    ["Points", count(data.size(node))],
    ["Mass", `${number(data.mass(node))} (${percent(share)})`],
    ["Certainty", twoDigits(details.certainty[index]!)],
    ["Conductance", twoDigits(details.conductance[index]!)],
  ];
  if (details.stability) facts.push(["Stability", twoDigits(details.stability[index]!)]);
  const pairs = facts.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, value)),
  );
  return element("dl", {}, ...pairs);
}

/** A number from 0 to 1, or a dash where it is not defined. */
function twoDigits(value: number): string {
  return value < 0 ? "\u2013" : value.toFixed(2);
}

/** What stability means, and how often the cluster was lost. */
function stability(index: number, { lost }: Details, { data }: Known): HTMLElement[] {
  const { rounds } = data.head;
  if (!lost || rounds === null) return [];
  const often = lost[index] ? `in ${count(lost[index])} of them` : "in none of them";
  const text =
    `Stability: how well it was found again in ${plural(rounds, "round")} with other edge weights. ` +
    `1 is always the same. It was lost ${often}.`;
  return [element("p", { class: "faint" }, text)];
}

/** Selects the points of the cluster, as a lasso does. */
function selector(node: number, { data, store }: Known): HTMLElement {
  const select = async (): Promise<void> => {
    const [shares, points] = await Promise.all([data.shares(data.levelOf(node)), data.points()]);
    store.set({ selected: pointsOf(data.indexOf(node), null, shares, points) });
  };
  return element(
    "p",
    { class: "actions" },
    button("Select its points", () => void select(), { title: "For the map, or to save them as CSV" }),
  );
}

/** Clusters below that have a share of this one, by how much of its mass they bring. */
function childrenOf(node: number, parents: Rows, { data }: Known): [node: number, chance: number][] {
  const below = data.levels[data.levelOf(node) - 1]!;
  const index = data.indexOf(node);
  const found: [number, number, number][] = [];
  for (let child = 0; child < below.clusters; child++) {
    for (const [parent, chance] of entries(parents, child)) {
      if (parent === index && chance >= MIN_CHANCE)
        found.push([below.first + child, chance, chance * below.mass[child]!]);
    }
  }
  found.sort((a, b) => b[2] - a[2] || a[0] - b[0]);
  return found.slice(0, MOST_CHILDREN).map(([child, chance]) => [child, chance]);
}

function apart(index: number, rows: Rows, features: string[], { data }: Known): HTMLElement[] {
  const found = [...entries(rows, index)];
  if (!found.length) return [];
  const most = Math.max(...found.map(([, score]) => Math.abs(score)));
  const bars = found.map(([feature, score]) => {
    const value = `${score > 0 ? "+" : "\u2212"}${number(Math.abs(score))}`;
    return textBar(features[feature]!, value, Math.abs(score) / most, score < 0);
  });
  return section(`Set apart by (${data.head.features ?? "score"})`, list(bars));
}

function classes(node: number, rows: Rows, labels: string[], { data }: Known): HTMLElement[] {
  const found = [...entries(rows, data.indexOf(node))].slice(0, MOST_CLASSES);
  const bars = found.map(([label, points]) => {
    const share = points / data.size(node);
    return textBar(labels[label]!, percent(share), share);
  });
  return bars.length ? section("Labels", list(bars)) : [];
}
