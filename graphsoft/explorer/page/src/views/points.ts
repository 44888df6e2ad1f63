/**
 * The map of points. Colors blend by membership on the chosen level, and torn points are faint. Clusters have
 * labels where they fit. The pointer shows names, texts and pictures.
 */
import { quadtree, type Quadtree } from "d3-quadtree";
import { select } from "d3-selection";
import { zoom, zoomIdentity, type D3ZoomEvent, type ZoomTransform } from "d3-zoom";
import { FAR, SHARE, type Data, type Points, type Shares } from "../data.ts";
import { element, fitCanvas, inNextFrame } from "../dom.ts";
import { percent } from "../format.ts";
import { Pictures } from "../pictures.ts";
import type { Store } from "../state.ts";
import { fitting, type Label } from "./labels.ts";
import { drawDots, type Transform } from "./raster.ts";
import { blended, centers, emphasized, type Center } from "./shading.ts";
import type { View, ViewKind } from "./view.ts";
import { placeTip, zoomControls, zoomKey } from "./zooming.ts";

const MARGIN = 0.94; // of the area, that the points fill at first
const NEAR = 14; // pixels from the pointer to a point
const MOST_LABELS = 60;
const LETTERS = 28; // of a label
const PICTURE = 96;

interface NamedLabel extends Label {
  node: number;
  text: string;
}

/** What is drawn, for the level and the emphasis that were chosen last. */
interface Drawn {
  points: Points;
  shares: Shares;
  level: number;
  rgba: Uint8Array;
  centers: Center[];
  byMass: number[];
}

export const POINTS: ViewKind = {
  id: "points",
  title: "Points",
  available: () => true,
  mount: mountPoints,
};

function mountPoints(place: HTMLElement, data: Data, store: Store): View {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const tip = element("div", { class: "tip", hidden: true });
  const area = element(
    "div",
    {
      class: "map",
      role: "application",
      tabindex: 0,
      "aria-label": "Map of points: arrow keys move it, plus and minus zoom, 0 shows all",
    },
    canvas,
    tip,
  );
  const behavior = zoom<HTMLDivElement, unknown>().scaleExtent([0.5, 500]);
  const selection = select(area);
  place.replaceChildren(area, zoomControls(behavior, selection));

  const context = canvas.getContext("2d", { alpha: false })!;
  const pictures = new Pictures(data);
  // places are whole numbers across a box: by this they have one scale in both directions
  const aspect = (data.head.box[3] - data.head.box[1]) / (data.head.box[2] - data.head.box[0]);
  let moved: ZoomTransform = zoomIdentity;
  let pixels: ImageData | null = null;
  let drawn: Drawn | null = null;
  let tree: Quadtree<number> | null = null;
  let inside = false; // whether the pointer is here, where it emphasizes nothing
  let gone = false;
  let request = 0;

  /** From places in the box of the data to pixels of the screen. */
  const transform = (): Transform => {
    const [x0, y0, x1, y1] = data.head.box;
    const { clientWidth: width, clientHeight: height } = area;
    const scale = MARGIN * Math.min(width / (x1 - x0), height / (y1 - y0));
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

  const draw = (): void => {
    const { clientWidth: width, clientHeight: height } = area;
    if (gone || !width || !height) return;
    if (!pixels || canvas.style.width !== `${width}px` || canvas.style.height !== `${height}px`) {
      fitCanvas(canvas, width, height);
      pixels = new ImageData(canvas.width, canvas.height);
    }
    const ratio = canvas.width / width;
    const style = getComputedStyle(area);
    const values = new Uint32Array(pixels.data.buffer);
    values.fill(colorNumber(style.getPropertyValue("--paper")));
    const at = transform();
    if (drawn) {
      const scaled = {
        scaleX: at.scaleX * ratio,
        scaleY: at.scaleY * ratio,
        x: at.x * ratio,
        y: at.y * ratio,
      };
      const dots = { ...drawn.points, rgba: drawn.rgba };
      drawDots({ width: canvas.width, height: canvas.height, values }, dots, scaled, radius() * ratio);
    }
    context.putImageData(pixels, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (drawn) {
      drawLabels(drawn, at, width, height, style);
      drawPoint(drawn.points, at, style);
    }
  };

  const drawLabels = (
    { centers: middles, byMass, level }: Drawn,
    at: Transform,
    width: number,
    height: number,
    style: CSSStyleDeclaration,
  ): void => {
    const { chosen, hovered } = store.state;
    const first = data.levels[level]!.first;
    context.font = `600 12px ${style.fontFamily}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    function* candidates(): Generator<NamedLabel> {
      const special = [chosen, hovered].filter((node) => node !== null && data.levelOf(node) === level);
      const order = [...special.map((node) => node! - first), ...byMass.slice(0, 20 * MOST_LABELS)];
      for (const index of new Set(order)) {
        const x = middles[index]!.x * at.scaleX + at.x;
        const y = middles[index]!.y * at.scaleY + at.y;
        if (!(x > 0 && y > 0 && x < width && y < height)) continue;
        const title = store.titleOf(first + index);
        const text = title.length > LETTERS ? `${title.slice(0, LETTERS - 1)}\u2026` : title;
        yield { node: first + index, text, x, y, width: context.measureText(text).width + 8, height: 18 };
      }
    }
    for (const label of fitting(candidates(), width, height, MOST_LABELS)) {
      context.lineWidth = 4;
      context.strokeStyle = style.getPropertyValue("--paper");
      context.strokeText(label.text, label.x, label.y);
      const isChosen = label.node === chosen || label.node === hovered;
      context.fillStyle = style.getPropertyValue(isChosen ? "--accent" : "--ink");
      context.fillText(label.text, label.x, label.y);
    }
  };

  const drawPoint = (points: Points, at: Transform, style: CSSStyleDeclaration): void => {
    const { point } = store.state;
    if (point === null) return;
    context.beginPath();
    const x = points.x[point]! * at.scaleX + at.x;
    const y = points.y[point]! * at.scaleY + at.y;
    context.arc(x, y, radius() + 4, 0, 2 * Math.PI);
    context.lineWidth = 2;
    context.strokeStyle = style.getPropertyValue("--ink");
    context.stroke();
  };

  const redraw = inNextFrame(draw);

  /** Take up another level or emphasis. What was asked for before, and comes late, is not drawn. */
  const refresh = async (): Promise<void> => {
    const mine = ++request;
    const { level, chosen, hovered } = store.state;
    const focus = inside ? chosen : (hovered ?? chosen);
    const emphasis = focus === null || focus === data.root ? null : focus;
    const [points, shares, focused] = await Promise.all([
      data.points(),
      data.shares(level),
      emphasis === null ? null : data.shares(data.levelOf(emphasis)),
    ]);
    if (gone || mine !== request) return;
    const { color, mass, clusters } = data.levels[level]!;
    const rgba = blended(shares, color);
    const same = drawn?.level === level ? drawn : null;
    drawn = {
      points,
      shares,
      level,
      rgba: emphasis === null ? rgba : emphasized(rgba, focused!, data.indexOf(emphasis)),
      centers: same?.centers ?? centers(shares, clusters, points.x, points.y),
      byMass: same?.byMass ?? [...mass.keys()].sort((a, b) => mass[b]! - mass[a]! || a - b),
    };
    redraw();
  };

  /** The point under the pointer, or null. */
  const pointAt = (event: MouseEvent): number | null => {
    if (!drawn) return null;
    const { x, y, count } = drawn.points;
    const at = transform();
    tree ??= quadtree<number>()
      .x((point) => x[point]!)
      .y((point) => y[point]! * aspect)
      .addAll(Array.from({ length: count }, (_, point) => point));
    const box = area.getBoundingClientRect();
    const left = (event.clientX - box.left - at.x) / at.scaleX;
    const top = ((event.clientY - box.top - at.y) / at.scaleY) * aspect;
    return tree.find(left, top, Math.max(NEAR, radius()) / at.scaleX) ?? null;
  };

  const likeliest = (point: number): number => {
    const { shares, level } = drawn!;
    return data.nodeAt(level, shares.column[shares.start[point]!]!);
  };

  let tipped: number | null = null;
  const showTip = async (point: number | null): Promise<void> => {
    if (point === tipped) return;
    tipped = point;
    if (point === null) {
      tip.hidden = true;
      return;
    }
    const { points, shares } = drawn!;
    const [names, texts, picture] = await Promise.all([
      data.texts("names"),
      data.texts("texts"),
      pictures.of(point, PICTURE),
    ]);
    if (point !== tipped || gone) return;
    const node = likeliest(point);
    const share = shares.value[shares.start[point]!]! / SHARE;
    tip.replaceChildren(
      element("strong", {}, names?.[point] ?? `point ${points.row?.[point] ?? point}`),
      element("p", {}, `${percent(share)} ${store.titleOf(node)}`),
    );
    if (picture) tip.append(picture);
    if (texts?.[point]) tip.append(element("p", { class: "text" }, texts[point]));
    const at = transform();
    placeTip(tip, area, points.x[point]! * at.scaleX + at.x, points.y[point]! * at.scaleY + at.y);
  };

  behavior.on("zoom", (event: D3ZoomEvent<HTMLDivElement, unknown>) => {
    moved = event.transform;
    void showTip(null);
    redraw();
  });
  selection.call(behavior).on("dblclick.zoom", null);
  area.addEventListener("pointermove", (event) => {
    inside = true;
    if (event.buttons) return;
    const point = pointAt(event);
    void showTip(point);
    store.set({ hovered: point === null ? null : likeliest(point) }, { step: false });
  });
  area.addEventListener("pointerleave", () => {
    inside = false;
    void showTip(null);
    store.set({ hovered: null }, { step: false });
  });
  area.addEventListener("click", (event) => {
    const point = pointAt(event);
    if (point === null) store.choose(null);
    else store.choose(likeliest(point), point);
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
    else if (event.key === "Escape") store.choose(null);
    else if (!zoomKey(event.key, behavior, selection)) return;
    event.preventDefault();
  });

  const stop = store.subscribe((_, changed) => {
    if (changed.has("level") || changed.has("chosen") || (changed.has("hovered") && !inside)) void refresh();
    else if (changed.has("names") || changed.has("point") || changed.has("hovered")) redraw();
    if (changed.has("scheme")) redraw();
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

/** A color such as #1d5fa8 as a number for a pixel. */
function colorNumber(text: string): number {
  const value = parseInt(text.trim().slice(1), 16);
  return (0xff000000 | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}
