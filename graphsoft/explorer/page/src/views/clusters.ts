/**
 * The map of clusters: those of a level as circles by mass, and edges of their graph. A cluster that is opened
 * shows its children in its place. A canvas draws all; the largest circles are elements too, for screen readers.
 */
import { select } from "d3-selection";
import { zoom, type D3ZoomEvent } from "d3-zoom";
import type { Data, Rows } from "../data.ts";
import { button, colorsOf, element, fitCanvas, inNextFrame, onSystemColors } from "../dom.ts";
import { percent, plural } from "../format.ts";
import { changesAny, type Store } from "../state.ts";
import { Camera } from "./camera.ts";
import { cardIn } from "./card.ts";
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
import { onLongPress } from "./touch.ts";
import type { View, ViewKind } from "./view.ts";
import { zoomControls, zoomKey } from "./zooming.ts";

const MOST_EDGES = 3000;
const MOST_ITEMS = 100; // that screen readers find, the largest first

export const CLUSTERS: ViewKind = {
  id: "clusters",
  title: "Clusters",
  available: () => true,
  mount: mountClusters,
};

function mountClusters(place: HTMLElement, data: Data, store: Store): View {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const items = element("div", { class: "items", role: "presentation" });
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
  place.replaceChildren(area, zoomControls(behavior, selection, opener));
  const card = cardIn(place);

  const context = canvas.getContext("2d", { alpha: false })!;
  const total = data.mass(data.root);
  const camera = new Camera(area, behavior, selection);
  let circles: Circle[] = [];
  let edges: Edge[] = [];
  let gone = false;
  let request = 0;

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
    circles = found;
    camera.setBox(boxOf(every[level]!));
    edges = edgesAmong(data, found, new Map(graphs), MOST_EDGES);
    redraw();
  };

  const draw = (): void => {
    const { clientWidth: width, clientHeight: height } = area;
    if (gone || !circles.length || !width || !height) return;
    const ratio = fitCanvas(canvas, width, height);
    const { chosen, hovered } = store.state;
    const at = camera.transform();
    const seen = new Map(circles.map((circle) => [circle, camera.onScreen(circle, at)]));
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
    paint(context, scene, colorsOf(area));
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

  const circleOf = (node: number | null): Circle | undefined =>
    circles.find((circle) => circle.node === node);

  const toggle = (node: number): void => {
    const circle = circleOf(node);
    if (!circle || !data.children(node).length) return;
    store.toggle(node);
    if (store.state.open.has(node)) camera.fill(circle);
  };

  const circleUnder = (event: MouseEvent): Circle | null => circleHolding(circles, ...camera.placeOf(event));

  /** Choose a cluster of this map, which stays on its level. */
  const choose = (circle: Circle): void => {
    store.choose(circle.node, null, store.state.level);
    camera.bring(circle);
  };

  behavior.on("zoom", (event: D3ZoomEvent<HTMLDivElement, unknown>) => {
    camera.moved = event.transform;
    card.hide();
    redraw();
  });
  selection.call(behavior).on("dblclick.zoom", null);
  const showCard = (event: PointerEvent): void => {
    const circle = circleUnder(event);
    if (!circle) {
      card.hide();
      return;
    }
    const frame = place.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    void card.show(circle.node, x, y, () => [element("bdi", {}, describe(circle))]);
  };
  onLongPress(area, showCard);
  area.addEventListener("pointerdown", () => {
    card.hide();
  });
  area.addEventListener("pointermove", (event) => {
    if (event.buttons || event.pointerType === "touch") return;
    store.set({ hovered: circleUnder(event)?.node ?? null }, { step: false });
    showCard(event);
  });
  area.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "touch") return;
    card.hide();
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
    if (changesAny(changed, "level", "open")) void refresh();
    else if (changesAny(changed, "chosen", "hovered", "names", "scheme")) redraw();
  });
  const ignoreSystem = onSystemColors(redraw);
  void refresh();
  return {
    resize: redraw,
    destroy: () => {
      gone = true;
      stop();
      ignoreSystem();
      place.replaceChildren();
    },
  };
}
