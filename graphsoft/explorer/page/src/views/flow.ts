/**
 * The flow between levels: where the points of each cluster are on the level above. Bands are as wide as their
 * mass. Slots are elements that screen readers find.
 */
import type { Data, Rows } from "../data.ts";
import { button, drawing, element, inNextFrame } from "../dom.ts";
import { count, percent, plural, rgb } from "../format.ts";
import type { Store } from "../state.ts";
import { bandPath, flowOf, treeOrder, type Band, type Flow, type Slot } from "./bands.ts";
import type { View, ViewKind } from "./view.ts";
import { placeTip } from "./zooming.ts";

const MARGIN = { left: 12, right: 12, top: 26, bottom: 10 };
const WIDE = 12; // of a slot
const NAMED = 11; // pixels that a slot needs to hold a name
const LETTER = 6.6; // pixels, about

export const FLOW: ViewKind = {
  id: "flow",
  title: "Flow",
  available: (data) => data.levels.length > 1,
  mount: mountFlow,
};

function mountFlow(place: HTMLElement, data: Data, store: Store): View {
  const picture = drawing("svg", { role: "presentation" });
  const tip = element("div", { class: "tip", hidden: true });
  const area = element(
    "div",
    {
      class: "flow",
      role: "tree",
      tabindex: 0,
      "aria-label":
        "Flow between levels; left and right lead to children and parents, up and down along a level, Enter zooms, Escape zooms out",
    },
    picture,
  );
  const least = element("input", { type: "range", min: 0, max: 50, step: 1, id: "least" });
  const leastText = element("output", { for: "least" });
  least.addEventListener("input", () => {
    store.set({ least: Number(least.value) / 100 }, { step: false });
  });
  const out = button("Zoom out", () => {
    store.set({ zoom: data.parent(store.state.zoom) ?? data.root });
  });
  const controls = element(
    "div",
    { class: "bar" },
    element("label", { for: "least" }, "Shares from"),
    least,
    leastText,
    out,
  );
  const column = element("div", { class: "column" }, controls, area, tip);
  place.replaceChildren(column);

  const order = treeOrder(data);
  const total = data.mass(data.root);
  let flows: Rows[] | null = null;
  let flow: Flow = { slots: [], bands: [] };
  let parts: { of: Slot | Band; item: SVGElement }[] = [];
  let gone = false;

  const columnAt = (level: number): number => {
    const wide = area.clientWidth - MARGIN.left - MARGIN.right - WIDE;
    return MARGIN.left + (wide * level) / (data.levels.length - 1);
  };

  const nameOf = ({ nodes }: Slot): string => {
    if (nodes.length === 1) return store.titleOf(nodes[0]!);
    return nodes.length ? plural(nodes.length, "small cluster") : "others";
  };

  const shareIn = (band: Band): string => percent(band.mass / band.from.mass);

  /** What a band is; of what is outside, only what comes in is known. */
  const sentence = (band: Band): string =>
    band.from.nodes.length
      ? `${shareIn(band)} of ${nameOf(band.from)} is in ${nameOf(band.to)}`
      : `${percent(band.mass / band.to.mass)} of ${nameOf(band.to)} comes from others`;

  const describe = (slot: Slot): string => {
    const bands = flow.bands.filter((band) => band.from === slot);
    if (!slot.nodes.length) return [nameOf(slot), ...bands.map(sentence)].join(", ");
    const sum = (part: (node: number) => number): number =>
      slot.nodes.reduce((all, node) => all + part(node), 0);
    const points = plural(
      sum((node) => data.size(node)),
      "point",
    );
    const share = percent(sum((node) => data.mass(node)) / total);
    const above = bands.map((band) => `${shareIn(band)} in ${nameOf(band.to)}`);
    return [nameOf(slot), points, `${share} of the mass`, ...above].join(", ");
  };

  const draw = (): void => {
    const { clientWidth: width, clientHeight: height } = area;
    least.value = String(Math.round(100 * store.state.least));
    leastText.textContent = `${least.value} %`;
    least.setAttribute("aria-valuetext", leastText.textContent);
    out.hidden = store.state.zoom === data.root;
    if (gone || !flows || !width || !height) return;
    const { chosen, zoom } = store.state;
    const inner = height - MARGIN.top - MARGIN.bottom;
    flow = flowOf(data, order, flows, { focus: zoom, chosen, least: store.state.least, height: inner });
    picture.setAttribute("width", String(width));
    picture.setAttribute("height", String(height));
    tip.hidden = true;
    parts = [];
    const bands = drawing("g", { transform: `translate(0 ${MARGIN.top})` }, ...flow.bands.map(bandItem));
    const slots = drawing("g", { transform: `translate(0 ${MARGIN.top})` }, ...flow.slots.map(slotItem));
    for (const group of [bands, slots]) group.setAttribute("role", "presentation");
    bands.setAttribute("aria-hidden", "true");
    picture.replaceChildren(headings(), bands, slots);
    emphasize();
  };

  /** How many clusters each level has, above its column. */
  const headings = (): SVGElement => {
    const last = data.levels.length - 1;
    const long = data.levels.map((level) => plural(level.clusters, "cluster"));
    // the first one stands at the edge of its column, and the next one above the middle
    const room = columnAt(1) - columnAt(0) > 1.6 * LETTER * Math.max(...long.map((text) => text.length));
    const texts = data.levels.map((level, at) => {
      const anchor = at === 0 ? "start" : at === last ? "end" : "middle";
      const x = columnAt(at) + { start: 0, middle: WIDE / 2, end: WIDE }[anchor];
      const text = room ? long[at] : count(level.clusters);
      return drawing("text", { x, y: 15, "text-anchor": anchor, class: "faint" }, text);
    });
    return drawing("g", { "aria-hidden": "true" }, ...texts);
  };

  const bandItem = (band: Band): SVGElement => {
    const item = drawing("path", {
      d: bandPath(band, columnAt(band.from.level) + WIDE, columnAt(band.to.level)),
      class: "band",
      fill: colorOf(band.from),
    });
    parts.push({ of: band, item });
    return item;
  };

  /** A folded slot has the color of its clusters' likeliest parent. */
  const colorOf = ({ nodes }: Slot): string => {
    if (!nodes.length) return "var(--faint)";
    return rgb(data.color(nodes.length === 1 ? nodes[0]! : data.parent(nodes[0]!)!));
  };

  const slotItem = (slot: Slot): SVGElement => {
    const { nodes, level, y0, y1 } = slot;
    const x = columnAt(level);
    const isChosen = nodes.length === 1 && nodes[0] === store.state.chosen;
    const item = drawing(
      "g",
      {
        id: `flow-${nodes.length ? data.id(nodes[0]!) : `others-${level}`}`,
        class: nodes.length === 1 ? "slot" : "slot folded",
        role: "treeitem",
        "aria-level": data.levels.length - level,
        "aria-selected": String(isChosen),
        "aria-label": describe(slot),
      },
      drawing("rect", { x, y: y0, width: WIDE, height: Math.max(y1 - y0, 1), fill: colorOf(slot) }),
    );
    if (y1 - y0 >= NAMED || isChosen) item.append(nameItem(slot));
    parts.push({ of: slot, item });
    return item;
  };

  /** The name of a slot, beside it and towards the middle, as far as there is room. */
  const nameItem = (slot: Slot): SVGElement => {
    const last = slot.level === data.levels.length - 1;
    const room = Math.max(Math.floor((columnAt(1) - columnAt(0) - WIDE - 12) / LETTER), 2);
    const name = slot.nodes.length > 1 ? `${count(slot.nodes.length)} small` : nameOf(slot);
    const x = columnAt(slot.level) + (last ? -5 : WIDE + 5);
    return drawing(
      "text",
      { x, y: (slot.y0 + slot.y1) / 2, dy: "0.35em", "text-anchor": last ? "end" : "start", class: "name" },
      name.length > room ? `${name.slice(0, room - 1)}\u2026` : name,
    );
  };

  const holds = (slot: Slot, node: number | null): boolean => node !== null && slot.nodes.includes(node);

  /** Emphasize the chosen cluster and the one under the pointer, with all their bands. */
  const emphasize = (): void => {
    const { chosen, hovered } = store.state;
    const lit = (slot: Slot): boolean => holds(slot, chosen) || holds(slot, hovered);
    let any = false;
    for (const { of, item } of parts) {
      const on = "from" in of ? lit(of.from) || lit(of.to) : lit(of);
      item.classList.toggle("lit", on);
      any ||= on;
    }
    picture.classList.toggle("some", any);
    if (
      chosen !== null &&
      parts.some(({ of }) => "nodes" in of && holds(of, chosen) && of.nodes.length === 1)
    )
      area.setAttribute("aria-activedescendant", `flow-${data.id(chosen)}`);
    else area.removeAttribute("aria-activedescendant");
  };

  const redraw = inNextFrame(draw);

  const partUnder = (event: MouseEvent): Slot | Band | null => {
    const item = event.target instanceof Element ? event.target.closest(".band, .slot") : null;
    return parts.find((part) => part.item === item)?.of ?? null;
  };

  /** Zoom to where folded clusters are larger, or choose the largest of them. */
  const unfold = (slot: Slot): void => {
    const { zoom } = store.state;
    if (!slot.nodes.length) {
      store.set({ zoom: data.parent(zoom) ?? data.root });
      return;
    }
    const isFolded = (node: number): boolean =>
      flow.slots.some((each) => each.nodes.length > 1 && holds(each, node));
    let parent = data.parent(slot.nodes[0]!)!;
    while (isFolded(parent)) parent = data.parent(parent)!;
    if (parent !== zoom) store.set({ zoom: parent });
    else store.choose(slot.nodes.reduce((a, b) => (data.mass(b) > data.mass(a) ? b : a)));
  };

  area.addEventListener("click", (event) => {
    const part = partUnder(event);
    if (!part) return;
    const slot = "from" in part ? part.from : part;
    if (slot.nodes.length !== 1) unfold(slot);
    else if (slot.nodes[0] === store.state.chosen) store.zoomTo(slot.nodes[0]);
    else store.choose(slot.nodes[0]!);
  });
  area.addEventListener("pointermove", (event) => {
    const part = partUnder(event);
    const slot = part && "from" in part ? part.from : part;
    store.set({ hovered: slot?.nodes.length === 1 ? slot.nodes[0]! : null }, { step: false });
    if (!part) {
      tip.hidden = true;
      return;
    }
    tip.replaceChildren(element("bdi", {}, "from" in part ? sentence(part) : describe(part)));
    const box = column.getBoundingClientRect();
    placeTip(tip, column, event.clientX - box.left, event.clientY - box.top);
  });
  area.addEventListener("pointerleave", () => {
    tip.hidden = true;
    store.set({ hovered: null }, { step: false });
  });

  /** Walk from the chosen cluster; tells whether the key meant something. */
  const onKey = (key: string): boolean => {
    const { chosen, zoom } = store.state;
    const single = flow.slots.filter(({ nodes }) => nodes.length === 1);
    const current = single.find(({ nodes }) => nodes[0] === chosen);
    if (key === "Home") store.set({ zoom: data.root });
    else if (key === "Escape") store.set({ zoom: data.parent(zoom) ?? data.root });
    else if (!key.startsWith("Arrow") && key !== "Enter" && key !== " ") return false;
    else if (!current || chosen === null) {
      const first = single.find(({ level }) => level === store.state.level) ?? single[0];
      if (first) store.choose(first.nodes[0]!);
    } else if (key === "ArrowUp" || key === "ArrowDown") {
      const beside = single.filter(({ level }) => level === current.level);
      const step = key === "ArrowDown" ? 1 : -1;
      store.choose(beside[(beside.indexOf(current) + step + beside.length) % beside.length]!.nodes[0]!);
    } else if (key === "ArrowLeft") {
      const child = data.children(chosen)[0];
      if (child !== undefined) store.choose(child);
    } else if (key === "ArrowRight") {
      const parent = data.parent(chosen);
      if (parent !== null && parent !== data.root) store.choose(parent);
    } else store.zoomTo(chosen);
    return true;
  };
  area.addEventListener("keydown", (event) => {
    if (onKey(event.key)) event.preventDefault();
  });

  const stop = store.subscribe((_, changed) => {
    if (["chosen", "zoom", "names", "least"].some((key) => changed.has(key as never))) redraw();
    else if (changed.has("hovered")) emphasize();
  });
  const below = data.levels.slice(0, -1).map((_, level) => data.links(level));
  void Promise.all(below).then((links) => {
    flows = links.map((each) => each.flow!);
    draw();
  });
  return {
    resize: redraw,
    destroy: () => {
      gone = true;
      stop();
      place.replaceChildren();
    },
  };
}
