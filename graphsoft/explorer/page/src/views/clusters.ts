/**
 * The map of clusters: those of a level as circles by mass, and edges of their graph. A cluster that is opened
 * shows its children in its place. A canvas draws all; the largest circles are elements too, for screen readers.
 */
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import type { Data, Rows } from "../data.ts";
import { button, element, fitCanvas, inNextFrame } from "../dom.ts";
import { percent, plural } from "../format.ts";
import type { Store } from "../state.ts";
import {
  boxOf,
  circleBeside,
  circleHolding,
  circlesOf,
  edgesAmong,
  type Circle,
  type Edge,
} from "./circles.ts";
import { paint, type Scene } from "./painting.ts";
import type { View, ViewKind } from "./view.ts";
import { placeTip, zoomControls, zoomKey } from "./zooming.ts";

const MARGIN = 0.94; // of the area, that the circles fill at first
const MOST_EDGES = 3000;
const MOST_ITEMS = 100; // that screen readers find, the largest first
const ROOM = { least: 0.6, most: 0.84 }; // of the area, that an opened cluster is to fill

/** Pixels of a length of 1, and of the place 0, 0. The y axis points up. */
interface Transform {
  scale: number;
  x: number;
  y: number;
}

export const CLUSTERS: ViewKind = {
  id: "clusters",
  title: "Clusters",
  available: () => true,
  mount: mountClusters,
};

function mountClusters(place: HTMLElement, data: Data, store: Store): View {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const items = element("div", { class: "items", role: "presentation" });
  const tip = element("div", { class: "tip", hidden: true });
  const area = element(
    "div",
    {
      class: "map",
      role: "listbox",
      tabindex: 0,
      "aria-label":
        "Map of clusters; arrow keys move, Enter opens or closes, Escape closes what it is in, plus and minus zoom, 0 shows all",
    },
    canvas,
    items,
  );
  const behavior = zoom<HTMLDivElement, unknown>().scaleExtent([0.5, 2000]);
  const selection = select(area);
  const opener = button("Open", () => {
    if (store.state.chosen !== null) toggle(store.state.chosen);
  });
  place.replaceChildren(area, zoomControls(behavior, selection, opener), tip);

  const context = canvas.getContext("2d", { alpha: false })!;
  const total = data.mass(data.root);
  let box: ReturnType<typeof boxOf> = [0, 0, 1, 1];
  let circles: Circle[] = [];
  let edges: Edge[] = [];
  let moved: ZoomTransform = zoomIdentity;
  let gone = false;
  let request = 0;

  /** Where all circles of the level fit. */
  const fit = (): Transform => {
    const [x0, y0, x1, y1] = box;
    const { clientWidth: width, clientHeight: height } = area;
    const scale = MARGIN * Math.min(width / (x1 - x0 || 1), height / (y1 - y0 || 1));
    return { scale, x: width / 2 - (scale * (x0 + x1)) / 2, y: height / 2 + (scale * (y0 + y1)) / 2 };
  };

  const transform = (): Transform => {
    const { scale, x, y } = fit();
    return { scale: moved.k * scale, x: moved.applyX(x), y: moved.applyY(y) };
  };

  /** Take up another level, or what is open. What was asked for before, and comes late, is not drawn. */
  const refresh = async (): Promise<void> => {
    const mine = ++request;
    const { level, open } = store.state;
    const every = await Promise.all(data.levels.map((_, at) => data.circles(at)));
    const found = circlesOf(data, every, level, open);
    const levels = [...new Set(found.map((circle) => data.levelOf(circle.node)))];
    const graphs = await Promise.all(
      levels.map(async (at): Promise<[number, Rows]> => [at, (await data.links(at)).graph]),
    );
    if (gone || mine !== request) return;
    const before = transform();
    box = boxOf(every[level]!);
    circles = found;
    if (moved !== zoomIdentity) stay(before);
    edges = edgesAmong(data, found, new Map(graphs), MOST_EDGES);
    redraw();
  };

  /** Another level fits elsewhere: show the same places as before. */
  const stay = (before: Transform): void => {
    const at = fit();
    const k = before.scale / at.scale;
    const next = zoomIdentity.translate(before.x - k * at.x, before.y - k * at.y).scale(k);
    behavior.transform(selection, next);
  };

  const draw = (): void => {
    const { clientWidth: width, clientHeight: height } = area;
    if (gone || !circles.length || !width || !height) return;
    const ratio = fitCanvas(canvas, width, height);
    const style = getComputedStyle(area);
    const { chosen, hovered } = store.state;
    const at = transform();
    const seen = new Map<Circle, Circle>();
    for (const circle of circles) {
      const [x, y, r] = [circle.x * at.scale + at.x, at.y - circle.y * at.scale, circle.r * at.scale];
      seen.set(circle, { ...circle, x, y, r });
    }
    const onScreen = [...seen.values()].filter(
      ({ x, y, r }) => x + r >= 0 && x - r <= width && y + r >= 0 && y - r <= height,
    );
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const scene: Scene = {
      width,
      height,
      circles: onScreen,
      edges: edges.map(({ a, b, weight }) => ({ a: seen.get(a)!, b: seen.get(b)!, weight })),
      chosen,
      hovered,
      kin: chosen === null ? null : kinOf(chosen),
      color: (node) => data.color(node),
      title: (node) => store.titleOf(node),
    };
    paint(context, scene, {
      ink: style.getPropertyValue("--ink"),
      paper: style.getPropertyValue("--paper"),
      accent: style.getPropertyValue("--accent"),
      font: `12px ${style.fontFamily}`,
    });
    drawItems(onScreen);
  };

  /** A cluster, what it is in, what is in it, and what it has edges to. */
  const kinOf = (chosen: number): Set<number> => {
    const inside = [chosen];
    for (const node of inside) for (const child of data.children(node)) inside.push(child);
    const kin = new Set([...data.path(chosen), ...inside]);
    for (const { a, b } of edges) {
      if (a.node === chosen) kin.add(b.node);
      if (b.node === chosen) kin.add(a.node);
    }
    return kin;
  };

  const drawItems = (onScreen: readonly Circle[]): void => {
    const { chosen } = store.state;
    const made: HTMLElement[] = [];
    let active: string | null = null;
    for (const circle of onScreen) {
      const isChosen = circle.node === chosen;
      if (!isChosen && made.length >= MOST_ITEMS) continue;
      const item = element("div", {
        id: `circle-${data.id(circle.node)}`,
        role: "option",
        "aria-selected": String(isChosen),
        "aria-label": describe(circle),
      });
      const { x, y, r } = circle;
      item.style.left = `${x - r}px`;
      item.style.top = `${y - r}px`;
      item.style.width = item.style.height = `${2 * r}px`;
      if (isChosen) active = item.id;
      made.push(item);
    }
    items.replaceChildren(...made);
    if (active) area.setAttribute("aria-activedescendant", active);
    else area.removeAttribute("aria-activedescendant");
    const closed = chosen === null || !store.state.open.has(chosen);
    opener.textContent = closed ? "Open" : "Close";
    opener.disabled = chosen === null || !active || !data.children(chosen).length;
  };

  const describe = ({ node, open }: Circle): string => {
    const inside = data.children(node).length;
    const facts = [
      store.titleOf(node),
      plural(data.size(node), "point"),
      `${percent(data.mass(node) / total)} of the mass`,
    ];
    if (inside) facts.push(`${plural(inside, "cluster")} inside${open ? ", open" : ""}`);
    return facts.join(", ");
  };

  const redraw = inNextFrame(draw);

  /** Fill the area with a circle, unless it is large enough already. */
  const moveTo = ({ x, y, r }: Circle): void => {
    const { clientWidth: width, clientHeight: height } = area;
    const at = transform();
    const side = Math.min(width, height);
    const [left, top, wide] = [x * at.scale + at.x, -y * at.scale + at.y, 2 * r * at.scale];
    const whole = left >= wide / 2 && top >= wide / 2 && left + wide / 2 <= width && top + wide / 2 <= height;
    if (wide >= ROOM.least * side && whole) return;
    const k = (ROOM.most * side) / wide;
    const next = zoomIdentity
      .translate(width / 2, height / 2)
      .scale(k)
      .translate(-left, -top)
      .translate(moved.x, moved.y)
      .scale(moved.k);
    behavior.transform(selection, next);
  };

  const circleOf = (node: number | null): Circle | undefined =>
    circles.find((circle) => circle.node === node);

  const toggle = (node: number): void => {
    const circle = circleOf(node);
    if (!circle || !data.children(node).length) return;
    store.toggle(node);
    if (store.state.open.has(node)) moveTo(circle);
  };

  const circleUnder = (event: MouseEvent): Circle | null => {
    const at = transform();
    const frame = area.getBoundingClientRect();
    const x = (event.clientX - frame.left - at.x) / at.scale;
    const y = (event.clientY - frame.top - at.y) / -at.scale;
    return circleHolding(circles, x, y);
  };

  /** Choose a cluster of this map, which stays on its level. */
  const choose = (circle: Circle): void => {
    store.choose(circle.node, null, store.state.level);
    const at = transform();
    const [x, y] = [circle.x * at.scale + at.x, -circle.y * at.scale + at.y];
    if (x < 0 || y < 0 || x > area.clientWidth || y > area.clientHeight) {
      behavior.translateBy(
        selection,
        (area.clientWidth / 2 - x) / moved.k,
        (area.clientHeight / 2 - y) / moved.k,
      );
    }
  };

  behavior.on("zoom", (event: D3ZoomEvent<HTMLDivElement, unknown>) => {
    moved = event.transform;
    tip.hidden = true;
    redraw();
  });
  selection.call(behavior).on("dblclick.zoom", null);
  area.addEventListener("pointermove", (event) => {
    if (event.buttons) return;
    const circle = circleUnder(event);
    store.set({ hovered: circle?.node ?? null }, { step: false });
    if (!circle) {
      tip.hidden = true;
      return;
    }
    tip.replaceChildren(element("bdi", {}, describe(circle)));
    const frame = place.getBoundingClientRect();
    placeTip(tip, place, event.clientX - frame.left, event.clientY - frame.top);
  });
  area.addEventListener("pointerleave", () => {
    tip.hidden = true;
    store.set({ hovered: null }, { step: false });
  });
  area.addEventListener("click", (event) => {
    const circle = circleUnder(event);
    if (circle) choose(circle);
    else store.choose(null);
  });
  area.addEventListener("dblclick", (event) => {
    const circle = circleUnder(event);
    if (circle) toggle(circle.node);
  });

  /** Walk the map from the chosen circle; tells whether the key meant something. */
  const onKey = (key: string): boolean => {
    const { chosen, open } = store.state;
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
    const current = circleOf(chosen);
    if (direction) {
      const next = current ? circleBeside(circles, current, direction[0]!, direction[1]!) : circles[0];
      if (next) choose(next);
    } else if (key === "Enter" || key === " ") {
      if (chosen !== null) toggle(chosen);
    } else if (key === "Escape") {
      const ring = current?.open ? current : circleOf(data.parent(chosen ?? data.root));
      if (ring && open.has(ring.node)) {
        choose(ring);
        toggle(ring.node);
      } else store.choose(null);
    } else return zoomKey(key, behavior, selection);
    return true;
  };
  area.addEventListener("keydown", (event) => {
    if (onKey(event.key)) event.preventDefault();
  });

  const stop = store.subscribe((_, changed) => {
    if (changed.has("level") || changed.has("open")) void refresh();
    else if (["chosen", "hovered", "names", "scheme"].some((key) => changed.has(key as never))) redraw();
  });
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", redraw);
  void refresh();
  return {
    resize: redraw,
    destroy: () => {
      gone = true;
      stop();
      dark.removeEventListener("change", redraw);
      place.replaceChildren();
    },
  };
}
