/** The picture of the map: points, labels of clusters, the chosen point, and a line that is being drawn. */
import type { Data, Points, Shares } from "../data.ts";
import { colorsOf, fitCanvas } from "../dom.ts";
import { computed, shortened, type Color } from "../format.ts";
import type { Store } from "../state.ts";
import { scalesToAppear } from "./labels.ts";
import type { Corner } from "./lasso.ts";
import { drawDots, type Transform } from "./raster.ts";
import type { Center } from "./shading.ts";

const LETTERS = 28; // of a label
const FONT = "600 12px";
// Pixels: of a label beyond its letters, and from line to line; of clusters, and of points.
const ROOM = { width: 22, height: 30 };
const ROOM_OF_NAME = { width: 8, height: 15 };
const MOST_LABELS = 10_000; // of the heaviest clusters
const MOST_NAMES = 1500; // more points than these have no names on the map
const NAME_FONT = "11px";
const BELOW = 11; // pixels from a point to its name

/** What is drawn, for the level and the emphasis that were chosen last. */
export interface Drawn {
  points: Points;
  /** What points are called, if they have names. */
  names: string[] | null;
  shares: Shares;
  level: number;
  rgba: Uint8Array;
  centers: Center[];
}

/** A label of a cluster, or the name of a point, which has no node. */
interface MapLabel {
  node: number | null;
  text: string;
  x: number;
  y: number;
  width: number;
  height: number;
  /** Pixels per unit of places, from which on it fits. */
  from: number;
}

type Colors = ReturnType<typeof colorsOf>;

export class Picture {
  readonly canvas: HTMLCanvasElement;
  private readonly area: HTMLElement;
  private readonly data: Data;
  private readonly store: Store;
  private readonly context: CanvasRenderingContext2D;
  private readonly dots = new OffscreenCanvas(1, 1).getContext("2d", { alpha: false })!;
  /** Units of y are by this longer than those of x. */
  private readonly aspect: number;
  private pixels: ImageData | null = null;
  private labels: MapLabel[] = [];
  private labelled: [level: number, names: unknown] | null = null; // for what the labels are

  constructor(canvas: HTMLCanvasElement, area: HTMLElement, aspect: number, data: Data, store: Store) {
    this.canvas = canvas;
    this.area = area;
    this.aspect = aspect;
    this.data = data;
    this.store = store;
    this.context = canvas.getContext("2d", { alpha: false })!;
  }

  /** Draw all; `line` is one of a lasso, in pixels. */
  draw(drawn: Drawn | null, at: Transform, radius: number, line: readonly Corner[]): void {
    const { clientWidth: width, clientHeight: height } = this.area;
    const { canvas, context } = this;
    const ratio = fitCanvas(canvas, width, height);
    if (this.pixels?.width !== canvas.width || this.pixels.height !== canvas.height) {
      this.pixels = new ImageData(canvas.width, canvas.height);
      this.dots.canvas.width = canvas.width;
      this.dots.canvas.height = canvas.height;
    }
    const colors = colorsOf(this.area);
    const values = new Uint32Array(this.pixels.data.buffer);
    values.fill(pixelOf(computed(colors.paper)));
    if (drawn) {
      const scaled = {
        scaleX: at.scaleX * ratio,
        scaleY: at.scaleY * ratio,
        x: at.x * ratio,
        y: at.y * ratio,
      };
      const dots = { ...drawn.points, rgba: drawn.rgba };
      drawDots({ width: canvas.width, height: canvas.height, values }, dots, scaled, radius * ratio);
    }
    // by way of another canvas: on paper, a canvas is drawn again from its calls, and pixels are left out
    this.dots.putImageData(this.pixels, 0, 0);
    context.drawImage(this.dots.canvas, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (drawn) {
      this.drawLabels(drawn, at, colors);
      this.drawPoint(drawn.points, at, radius, colors);
    }
    if (line.length) this.drawLine(line, colors);
  }

  /** Find where labels fit, unless that is known: it depends on the level and the names, not on the zoom. */
  private layLabels(drawn: Drawn): void {
    const { level, centers } = drawn;
    const { data, store, context } = this;
    const { names } = store.state;
    if (this.labelled?.[0] === level && this.labelled[1] === names) return;
    this.labelled = [level, names];
    const { first, mass } = data.levels[level]!;
    const byMass = [...mass.keys()].sort((a, b) => mass[b]! - mass[a]! || a - b).slice(0, MOST_LABELS);
    const label = (node: number | null, title: string, x: number, y: number): Omit<MapLabel, "from"> => {
      const text = shortened(title, LETTERS);
      const room = node === null ? ROOM_OF_NAME : ROOM;
      const width = context.measureText(text).width + room.width;
      return { node, text, x, y: y * this.aspect, width, height: room.height };
    };
    const placed = byMass.map((index) => {
      const { x, y } = centers[index]!;
      return label(first + index, store.titleOf(first + index), x, y);
    });
    const { points, names: ofPoints } = drawn;
    if (ofPoints && points.count <= MOST_NAMES)
      for (const [point, name] of ofPoints.entries())
        placed.push(label(null, name, points.x[point]!, points.y[point]!));
    const scales = scalesToAppear(placed);
    this.labels = placed
      .map((each, at) => ({ ...each, from: scales[at]! }))
      .filter((label) => label.from < Infinity);
  }

  private drawLabels(drawn: Drawn, at: Transform, colors: Colors): void {
    const { context, store } = this;
    const { clientWidth: width, clientHeight: height } = this.area;
    context.font = `${FONT} ${colors.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    this.layLabels(drawn);
    const { chosen, hovered } = store.state;
    const isSpecial = ({ node }: MapLabel): boolean => node !== null && (node === chosen || node === hovered);
    const special: MapLabel[] = this.labels.filter(isSpecial);
    const place = (label: MapLabel): [x: number, y: number] => [
      label.x * at.scaleX + at.x,
      (label.y / this.aspect) * at.scaleY + at.y,
    ];
    const write = (label: MapLabel, color: string): void => {
      const [x, middle] = place(label);
      const y = label.node === null ? middle + BELOW : middle;
      context.font = `${label.node === null ? NAME_FONT : FONT} ${colors.font}`;
      context.lineWidth = 4;
      context.strokeStyle = colors.paper;
      context.strokeText(label.text, x, y);
      context.fillStyle = color;
      context.fillText(label.text, x, y);
    };
    // what is chosen or under the pointer is always there, and others make room for it
    for (const label of this.labels) {
      if (label.from > at.scaleX || isSpecial(label)) continue;
      const [x, y] = place(label);
      const wide = label.width / 2;
      if (x < -wide || y < -ROOM.height || x > width + wide || y > height + ROOM.height) continue;
      const covered = special.some((other) => {
        const [otherX, otherY] = place(other);
        return Math.abs(otherX - x) < wide + other.width / 2 && Math.abs(otherY - y) < ROOM.height;
      });
      if (!covered) write(label, colors.ink);
    }
    for (const label of special) write(label, colors.accent);
  }

  private drawPoint(points: Points, at: Transform, radius: number, colors: Colors): void {
    const { point } = this.store.state;
    if (point === null) return;
    const { context } = this;
    context.beginPath();
    const x = points.x[point]! * at.scaleX + at.x;
    const y = points.y[point]! * at.scaleY + at.y;
    context.arc(x, y, radius + 4, 0, 2 * Math.PI);
    context.lineWidth = 2;
    context.strokeStyle = colors.ink;
    context.stroke();
  }

  private drawLine(line: readonly Corner[], colors: Colors): void {
    const { context } = this;
    context.beginPath();
    for (const [x, y] of line) context.lineTo(x, y);
    context.closePath();
    context.lineWidth = 2;
    context.setLineDash([6, 4]);
    context.strokeStyle = colors.accent;
    context.stroke();
    context.setLineDash([]);
  }
}

/** A color as the number of a pixel. */
function pixelOf([red, green, blue]: Color): number {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}
