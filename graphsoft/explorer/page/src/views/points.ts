/**
 * The map of points. Colors blend by membership on the chosen level, or stand for labels; torn points are faint.
 * Clusters have labels where they fit. The pointer shows names, texts and pictures, and a lasso selects points.
 */
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import Flatbush from "flatbush";
import { FAR, type Data, type Points } from "../data.ts";
import { button, element, inNextFrame, onSystemColors } from "../dom.ts";
import { changesAny, type Store } from "../state.ts";
import { cardIn } from "./card.ts";
import { lassoOn, pointsWithin } from "./lasso.ts";
import { legendOf } from "./legend.ts";
import { Picture, type Drawn } from "./picture.ts";
import { cardOfPoint } from "./point_card.ts";
import type { Transform } from "./raster.ts";
import { blended, centers, emphasized, labelled, onlySelected } from "./shading.ts";
import { onLongPress } from "./touch.ts";
import type { View, ViewKind } from "./view.ts";
import { zoomControls, zoomKey } from "./zooming.ts";

const MARGIN = 0.94; // of the area, that the points fill at first
const NEAR = 14; // pixels from the pointer to a point
const NEAR_FINGER = 24;

export const POINTS: ViewKind = {
  id: "points",
  title: "Points",
  available: () => true,
  mount: mountPoints,
};

function mountPoints(place: HTMLElement, data: Data, store: Store): View {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const area = element(
    "div",
    {
      class: "map",
      role: "application",
      tabindex: 0,
      "aria-label":
        "Map of points: arrow keys move it, plus and minus zoom, 0 shows all, Enter chooses the point in the middle",
    },
    canvas,
  );
  const behavior = zoom<HTMLDivElement, unknown>().scaleExtent([0.5, 500]);
  const selection = select(area);
  let lassoing = false;
  const tool = button(
    "Lasso",
    () => {
      setLassoing(!lassoing);
    },
    { "aria-pressed": "false", title: "Draw around points to select them (or drag with Shift held)" },
  );
  const setLassoing = (on: boolean): void => {
    lassoing = on;
    tool.setAttribute("aria-pressed", String(on));
    area.classList.toggle("lassoing", on);
  };
  const coloring = button(
    "Color by label",
    () => {
      store.set({ coloring: store.state.coloring === "labels" ? "clusters" : "labels" });
    },
    { "aria-pressed": "false" },
  );
  coloring.hidden = !data.has("label");
  const legend = element("div", { class: "corner", hidden: true });
  place.replaceChildren(area, zoomControls(behavior, selection, coloring, tool), legend);

  const card = cardIn(area);
  // places are whole numbers across a box: by this they have one scale in both directions
  const aspect = (data.head.box[3] - data.head.box[1]) / (data.head.box[2] - data.head.box[0]);
  const picture = new Picture(canvas, area, aspect, data, store);
  let moved: ZoomTransform = zoomIdentity;
  let drawn: Drawn | null = null;
  let places: Flatbush | null = null;
  let inside = false; // whether the pointer is here, where it emphasizes nothing
  let gone = false;
  let request = 0;
  let size = { width: 0, height: 0 };

  /** Pixels per unit of the coordinates, where all of them fit. */
  const fit = (width: number, height: number): number => {
    const [x0, y0, x1, y1] = data.head.box;
    return MARGIN * Math.min(width / (x1 - x0), height / (y1 - y0));
  };

  /** From places in the box of the data to pixels of the screen. */
  const transform = (): Transform => {
    const [x0, y0, x1, y1] = data.head.box;
    const { clientWidth: width, clientHeight: height } = area;
    const scale = fit(width, height);
    const wide = (x1 - x0) * scale;
    const high = (y1 - y0) * scale;
    return {
      scaleX: (moved.k * wide) / FAR,
      scaleY: (-moved.k * high) / FAR,
      x: moved.k * ((width - wide) / 2) + moved.x,
      y: moved.k * ((height + high) / 2) + moved.y,
    };
  };

  const radius = (): number => {
    const room = Math.sqrt((area.clientWidth * area.clientHeight) / Math.max(data.head.shown, 1));
    return Math.min(Math.max(0.16 * room, 0.8), 4) * Math.min(moved.k ** 0.35, 3);
  };

  /** Keep what is in the middle there when the area has another size. */
  const keepMiddle = (): void => {
    const { clientWidth: width, clientHeight: height } = area;
    const before = size;
    if (!width || !height || (before.width === width && before.height === height)) return;
    size = { width, height };
    if (!before.width) return;
    const grown = fit(width, height) / fit(before.width, before.height);
    const from = (now: number, then: number, shift: number): number =>
      now / 2 - moved.k * (now / 2 + ((then / 2 - shift) / moved.k - then / 2) * grown);
    const x = from(width, before.width, moved.x);
    const y = from(height, before.height, moved.y);
    behavior.transform(selection, zoomIdentity.translate(x, y).scale(moved.k));
  };

  const draw = (): void => {
    if (gone || !area.clientWidth || !area.clientHeight) return;
    keepMiddle();
    picture.draw(drawn, transform(), radius(), lasso.line);
  };
  const redraw = inNextFrame(draw);

  /** Take up another level or emphasis. What was asked for before, and comes late, is not drawn. */
  const refresh = async (): Promise<void> => {
    const mine = ++request;
    const { level, chosen, hovered, selected, coloring: wanted } = store.state;
    const pointed = inside ? null : hovered;
    const focus = pointed ?? (selected ? null : chosen);
    const emphasis = focus === null || focus === data.root ? null : focus;
    const [points, names, shares, focused, labels] = await Promise.all([
      data.points(),
      data.texts("names"),
      data.shares(level),
      emphasis === null ? null : data.shares(data.levelOf(emphasis)),
      wanted === "labels" ? data.labels() : null,
    ]);
    if (gone || mine !== request) return;
    const { color, clusters } = data.levels[level]!;
    let rgba = labels && points.label ? labelled(shares, points.label, labels.color) : blended(shares, color);
    if (emphasis !== null) rgba = emphasized(rgba, focused!, data.indexOf(emphasis));
    else if (selected && pointed === null) rgba = onlySelected(rgba, selected);
    const same = drawn?.level === level ? drawn : null;
    drawn = {
      points,
      names,
      shares,
      level,
      rgba,
      centers: same?.centers ?? centers(shares, clusters, points.x, points.y),
    };
    coloring.setAttribute("aria-pressed", String(labels !== null));
    legend.hidden = labels === null;
    if (labels) legend.replaceChildren(legendOf(labels));
    redraw();
  };

  /** The point nearest to a place on the screen, or null. */
  const pointNear = (x: number, y: number, near: number): number | null => {
    if (!drawn) return null;
    const at = transform();
    places ??= indexed(drawn.points, aspect);
    const left = (x - at.x) / at.scaleX;
    const top = ((y - at.y) / at.scaleY) * aspect;
    return places.neighbors(left, top, 1, Math.max(near, radius()) / at.scaleX)[0] ?? null;
  };

  const pointUnder = (event: PointerEvent | MouseEvent): number | null => {
    const box = area.getBoundingClientRect();
    const finger = "pointerType" in event && event.pointerType === "touch";
    return pointNear(event.clientX - box.left, event.clientY - box.top, finger ? NEAR_FINGER : NEAR);
  };

  const likeliest = (point: number): number => {
    const { shares, level } = drawn!;
    return data.nodeAt(level, shares.column[shares.start[point]!]!);
  };

  const showCard = (point: number | null): void => {
    if (point === null || !drawn) {
      card.hide();
      return;
    }
    const at = transform();
    const x = drawn.points.x[point]! * at.scaleX + at.x;
    const y = drawn.points.y[point]! * at.scaleY + at.y;
    void card.show(point, x, y, () => cardOfPoint(point, data, store));
  };

  const lasso = lassoOn(
    area,
    (event) => lassoing || event.shiftKey,
    redraw,
    (line) => {
      if (!drawn) return;
      const found = pointsWithin(line, drawn.points, transform());
      store.set({ selected: found.length ? found : null });
    },
  );
  onLongPress(area, (event) => {
    if (!lassoing) showCard(pointUnder(event));
  });
  behavior.filter((event: MouseEvent | TouchEvent) => {
    if (event.type === "wheel") return true;
    if ("touches" in event) return !lassoing || event.touches.length > 1;
    return !lassoing && !event.ctrlKey && !event.shiftKey && !event.button;
  });
  behavior.on("zoom", (event: D3ZoomEvent<HTMLDivElement, unknown>) => {
    moved = event.transform;
    card.hide();
    redraw();
  });
  selection.call(behavior).on("dblclick.zoom", null);
  area.addEventListener("pointermove", (event) => {
    if (event.pointerType === "touch") return;
    inside = true;
    if (event.buttons) return;
    const point = pointUnder(event);
    showCard(point);
    store.set({ hovered: point === null ? null : likeliest(point) }, { step: false });
  });
  area.addEventListener("pointerleave", () => {
    if (!inside) return;
    inside = false;
    card.hide();
    store.set({ hovered: null }, { step: false });
  });
  const choose = (point: number | null): void => {
    showCard(point);
    if (point === null) store.choose(null);
    else store.choose(likeliest(point), point);
  };
  area.addEventListener("click", (event) => {
    choose(pointUnder(event));
  });
  area.addEventListener("keydown", (event) => {
    const step = 60 / moved.k;
    const moves: Record<string, [number, number]> = {
      ArrowLeft: [step, 0],
      ArrowRight: [-step, 0],
      ArrowUp: [0, step],
      ArrowDown: [0, -step],
    };
    const move = moves[event.key];
    if (move) behavior.translateBy(selection, ...move);
    else if (event.key === "Enter") choose(pointNear(area.clientWidth / 2, area.clientHeight / 2, Infinity));
    else if (event.key === "Escape") {
      card.hide();
      if (lassoing) setLassoing(false);
      else store.choose(null);
    } else if (!zoomKey(event.key, behavior, selection)) return;
    event.preventDefault();
  });

  const stop = store.subscribe((_, changed) => {
    const again = changesAny(changed, "level", "chosen", "selected", "coloring");
    if (again || (changed.has("hovered") && !inside)) void refresh();
    else if (changesAny(changed, "names", "point", "hovered", "scheme")) redraw();
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

/** Where points are, so that the nearest one is found at once. Units of y are by `aspect` longer than those of x. */
function indexed({ count, x, y }: Points, aspect: number): Flatbush {
  const places = new Flatbush(count, 16, Float32Array);
  for (let point = 0; point < count; point++) places.add(x[point]!, y[point]! * aspect);
  places.finish();
  return places;
}
