/** Everything about the chosen cluster, and about the chosen point. */
import { entries, SHARE, type Data, type Details, type Links, type Rows } from "../data.ts";
import { button, element } from "../dom.ts";
import { number, percent, plural, count } from "../format.ts";
import { Pictures } from "../pictures.ts";
import type { Store } from "../state.ts";
import { clusterButton, pointButton } from "./buttons.ts";
import type { View } from "./view.ts";

const MIN_CHANCE = 0.005; // smaller ones are not listed
const MOST_CHILDREN = 12;
const MOST_CLASSES = 6;
const PICTURE = 48;
const SHORT_TEXT = 140;

/** What is decoded before anything is shown, so that nothing jumps. */
interface Facts {
  links: Links;
  below: Rows | null;
  details: Details;
  features: string[] | null;
  labels: string[] | null;
  names: string[] | null;
  texts: string[] | null;
  rows: ArrayLike<number> | null;
}

export function mountPanel(place: HTMLElement, data: Data, store: Store): View {
  const pictures = new Pictures(data);
  let request = 0;
  let gone = false;

  const show = async (): Promise<void> => {
    const mine = ++request;
    const { chosen, point } = store.state;
    const shown = chosen === null ? overview() : cluster(chosen, await factsOf(chosen));
    const about = point === null ? [] : await pointFacts(point);
    if (gone || mine !== request) return;
    place.replaceChildren(...about, ...shown);
  };

  const factsOf = async (node: number): Promise<Facts> => {
    const level = data.levelOf(node);
    const [links, below, details, features, labels, names, texts, points] = await Promise.all([
      data.links(level),
      level ? data.links(level - 1) : null,
      data.details(level),
      data.texts("features"),
      data.texts("labels"),
      data.texts("names"),
      data.texts("texts"),
      data.points(),
    ]);
    return {
      links,
      below: below?.parents ?? null,
      details,
      features,
      labels,
      names,
      texts,
      rows: points.row,
    };
  };

  const overview = (): HTMLElement[] => {
    const { head } = data;
    const top = data.levels.at(-1)!;
    const order = [...top.mass.keys()].sort((a, b) => top.mass[b]! - top.mass[a]! || a - b);
    const total = data.mass(data.root);
    const tops = order
      .slice(0, MOST_CHILDREN)
      .map((index) => bar(top.first + index, top.mass[index]! / total));
    return [
      element("h2", {}, "All points"),
      element("p", { class: "faint" }, "Choose a cluster in the tree or on the map."),
      ...section(`Top level: ${plural(top.clusters, "cluster")}`, list(tops)),
      ...(head.limits.length ? section("Left out", element("p", {}, head.limits.join("; "))) : []),
    ];
  };

  /** A cluster with its part of something. */
  const bar = (node: number, share: number): HTMLElement =>
    element(
      "div",
      { class: "row" },
      clusterButton(node, data, store),
      meter(share),
      element("span", { class: "value" }, percent(share)),
    );

  const cluster = (node: number, facts: Facts): HTMLElement[] => {
    const level = data.levelOf(node);
    const index = data.indexOf(node);
    const { links, details } = facts;
    const parts: HTMLElement[] = [heading(node), numbers(node, details)];
    const above = data.levels[level + 1];
    if (links.parents && above) {
      const rows = likely(entries(links.parents, index)).map(([parent, chance]) =>
        bar(above.first + parent, chance),
      );
      parts.push(...section("Parents", list(rows)));
    }
    if (facts.below) {
      const rows = childrenOf(node, facts.below).map(([child, chance]) => bar(child, chance));
      parts.push(...section("Children, with the chance to be in this one", list(rows)));
    }
    const near = likely(entries(links.near, index)).map(([other, chance]) =>
      bar(data.nodeAt(level, other), chance),
    );
    if (near.length) parts.push(...section("Nearest clusters, by the chance of one step", list(near)));
    if (details.apart && facts.features) parts.push(...apart(index, details.apart, facts.features));
    if (details.classes && facts.labels) parts.push(...classes(node, details.classes, facts.labels));
    const central = [...entries(details.central, index)].map(([point]) => point);
    if (central.length)
      parts.push(...section("Most central points", ...central.map((each) => example(each, facts))));
    parts.push(...torn(level, index, facts));
    return parts;
  };

  const heading = (node: number): HTMLElement => {
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
    const back = button(
      "\u2715",
      () => {
        store.choose(null);
      },
      { "aria-label": "Close", class: "close" },
    );
    return element(
      "div",
      {},
      element("div", { class: "heading" }, element("h2", {}, store.titleOf(node)), back),
      form,
    );
  };

  const numbers = (node: number, details: Details): HTMLElement => {
    const index = data.indexOf(node);
    const [certainty, conductance] = [details.certainty[index]!, details.conductance[index]!];
    const share = data.mass(node) / data.mass(data.root);
    const facts: [string, string][] = [
      ["Cluster", data.id(node)],
      ["Points", count(data.size(node))],
      ["Mass", `${number(data.mass(node))} (${percent(share)})`],
      ["Certainty", certainty < 0 ? "\u2013" : certainty.toFixed(2)],
      ["Conductance", conductance < 0 ? "\u2013" : conductance.toFixed(2)],
    ];
    const pairs = facts.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, value)),
    );
    return element("dl", {}, ...pairs);
  };

  /** Clusters below that have a share of this one, by how much of its mass they bring. */
  const childrenOf = (node: number, parents: Rows): [node: number, chance: number][] => {
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
  };

  const apart = (index: number, rows: Rows, features: string[]): HTMLElement[] => {
    const found = [...entries(rows, index)];
    if (!found.length) return [];
    const most = Math.max(...found.map(([, score]) => Math.abs(score)));
    const bars = found.map(([feature, score]) =>
      element(
        "div",
        { class: "row" },
        element("span", { class: "feature", dir: "auto" }, features[feature]),
        meter(Math.abs(score) / most, score < 0),
        element("span", { class: "value" }, `${score > 0 ? "+" : "\u2212"}${number(Math.abs(score))}`),
      ),
    );
    return section(`Set apart by (${data.head.features ?? "score"})`, list(bars));
  };

  const classes = (node: number, rows: Rows, labels: string[]): HTMLElement[] => {
    const found = [...entries(rows, data.indexOf(node))].slice(0, MOST_CLASSES);
    const bars = found.map(([label, points]) =>
      element(
        "div",
        { class: "row" },
        element("span", { class: "feature", dir: "auto" }, labels[label]),
        meter(points / data.size(node)),
        element("span", { class: "value" }, percent(points / data.size(node))),
      ),
    );
    return bars.length ? section("Labels", list(bars)) : [];
  };

  const torn = (level: number, index: number, facts: Facts): HTMLElement[] => {
    const groups = new Map<number, number[]>();
    for (const [other, point] of entries(facts.details.torn, index)) {
      groups.set(other, [...(groups.get(other) ?? []), point]);
    }
    if (!groups.size) return [];
    const parts = [...groups].flatMap(([other, points]) => [
      element("div", { class: "between" }, "and ", clusterButton(data.nodeAt(level, other), data, store)),
      ...points.map((point) => example(point, facts)),
    ]);
    return section("Most torn between this", ...parts);
  };

  /** A point with its name, picture and the beginning of its text. */
  const example = (point: number, facts: Facts): HTMLElement => {
    const text = facts.texts?.[point] ?? "";
    const short = text.length > SHORT_TEXT ? `${text.slice(0, SHORT_TEXT)}\u2026` : text;
    const title = facts.names?.[point] ?? `point ${facts.rows?.[point] ?? point}`;
    const made = element(
      "div",
      { class: "example" },
      element(
        "div",
        {},
        pointButton(point, title, store),
        short ? element("p", { dir: "auto" }, short) : null,
      ),
    );
    void pictures.of(point, PICTURE).then((picture) => {
      if (picture) made.prepend(picture);
    });
    return made;
  };

  const pointFacts = async (point: number): Promise<HTMLElement[]> => {
    const [names, texts, labels, points, picture] = await Promise.all([
      data.texts("names"),
      data.texts("texts"),
      data.texts("labels"),
      data.points(),
      pictures.of(point, 2 * PICTURE),
    ]);
    const levels = await Promise.all(data.levels.map((_, level) => data.shares(level)));
    const rows = levels.flatMap((shares, level) =>
      likely(entries(shares, point)).map(([index, share]) => bar(data.nodeAt(level, index), share / SHARE)),
    );
    const label = points.label ? labels?.[points.label[point]!] : undefined;
    const close = button(
      "\u2715",
      () => {
        store.set({ point: null });
      },
      { "aria-label": "Close point", class: "close" },
    );
    const name = names?.[point] ?? `point ${points.row?.[point] ?? point}`;
    const box = element(
      "section",
      { class: "point", "aria-label": "Chosen point" },
      element("div", { class: "heading" }, element("h2", { dir: "auto" }, name), close),
      picture,
      texts?.[point] ? element("p", { class: "text", dir: "auto" }, texts[point]) : null,
      label === undefined ? null : element("p", { dir: "auto" }, `Label: ${label}`),
      ...section("Memberships", list(rows)),
    );
    return [box];
  };

  const stop = store.subscribe((_, changed) => {
    if (changed.has("chosen") || changed.has("point") || changed.has("names")) void show();
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

function likely(pairs: Iterable<[number, number]>): [number, number][] {
  return [...pairs].filter(([, chance]) => chance >= MIN_CHANCE);
}

function section(title: string, ...parts: HTMLElement[]): HTMLElement[] {
  return [element("h3", {}, title), ...parts];
}

function list(items: HTMLElement[]): HTMLElement {
  return element("ul", { class: "rows" }, ...items.map((item) => element("li", {}, item)));
}

/** A bar whose length is a share; the number beside it says the same in words. */
function meter(share: number, negative = false): HTMLElement {
  const fill = element("span", { class: negative ? "fill negative" : "fill" });
  fill.style.width = `${Math.min(Math.max(100 * share, 1), 100)}%`;
  return element("span", { class: "meter", "aria-hidden": "true" }, fill);
}
