/** Draws circles, the edges between them, and their names. All lengths are pixels. */
import type { colorsOf } from "../dom.ts";
import { computed, inkOn, mixed, rgb, shortened, type Color } from "../format.ts";
import type { Circle, Edge } from "./circles.ts";
import { fitting, type Label } from "./labels.ts";

export interface Scene {
  width: number;
  height: number;
  /** The largest first. */
  circles: readonly Circle[];
  edges: readonly Edge[];
  chosen: number | null;
  hovered: number | null;
  /** What is not faint; null if nothing is. */
  kin: ReadonlySet<number> | null;
  color: (node: number) => Color;
  title: (node: number) => string;
}

type Inks = ReturnType<typeof colorsOf>;

/** From this radius on a circle has a name. */
const NAMED = 7;
const MOST_LABELS = 80;
const LETTERS = 28; // of a label
const FAINT = 0.35; // of the color that a faint disk keeps

interface NamedLabel extends Label {
  circle: Circle;
  text: string;
}

export function paint(context: CanvasRenderingContext2D, scene: Scene, inks: Inks): void {
  context.fillStyle = inks.paper;
  context.fillRect(0, 0, scene.width, scene.height);
  const { circles, chosen, hovered } = scene;
  // rings lie below the edges of what is in them
  for (const circle of circles) if (circle.open) paintRing(context, circle, scene.color(circle.node));
  paintEdges(context, scene, inks);
  for (const circle of circles) if (!circle.open) paintDisk(context, circle, colorOf(circle, scene, inks));
  for (const circle of circles) {
    if (circle.node !== chosen && circle.node !== hovered) continue;
    context.strokeStyle = inks.ink;
    context.lineWidth = circle.node === chosen ? 3 : 1.5;
    trace(context, circle, Math.max(circle.r, 3) + 2);
    context.stroke();
  }
  paintNames(context, scene, inks);
}

function trace(context: CanvasRenderingContext2D, { x, y }: Circle, r: number): void {
  context.beginPath();
  context.arc(x, y, r, 0, 2 * Math.PI);
}

function paintRing(context: CanvasRenderingContext2D, circle: Circle, color: Color): void {
  trace(context, circle, circle.r);
  context.fillStyle = context.strokeStyle = rgb(color);
  context.globalAlpha = 0.14;
  context.fill();
  context.globalAlpha = 1;
  context.lineWidth = 1.5;
  context.stroke();
}

function paintDisk(context: CanvasRenderingContext2D, circle: Circle, color: Color): void {
  context.fillStyle = rgb(color);
  if (circle.r < 1) {
    context.fillRect(circle.x - 0.75, circle.y - 0.75, 1.5, 1.5);
  } else {
    trace(context, circle, circle.r);
    context.fill();
  }
}

function colorOf({ node }: Circle, { color, kin }: Scene, { paper }: Inks): Color {
  return !kin || kin.has(node) ? color(node) : mixed(color(node), computed(paper), FAINT);
}

/** Edges, and above them those of the chosen cluster and of the one under the pointer. */
function paintEdges(context: CanvasRenderingContext2D, scene: Scene, { ink, accent }: Inks): void {
  const { edges, chosen, hovered } = scene;
  const isLit = ({ a, b }: Edge): boolean =>
    [a.node, b.node].some((node) => node === chosen || node === hovered);
  const lit = edges.filter(isLit);
  context.strokeStyle = ink;
  context.globalAlpha = chosen === null ? 0.25 : 0.12;
  for (const edge of edges) if (!isLit(edge)) paintEdge(context, edge, scene);
  context.strokeStyle = accent;
  context.globalAlpha = 0.8;
  for (const edge of lit) paintEdge(context, edge, scene);
  context.globalAlpha = 1;
}

function paintEdge(
  context: CanvasRenderingContext2D,
  { a, b, weight }: Edge,
  { width, height }: Scene,
): void {
  const aside = Math.max(a.x, b.x) < 0 || Math.min(a.x, b.x) > width;
  if (aside || Math.max(a.y, b.y) < 0 || Math.min(a.y, b.y) > height) return;
  const length = Math.hypot(b.x - a.x, b.y - a.y);
  if (!length) return;
  // disks are drawn over the ends of their edges, and rings are not
  const [from, to] = [a.open ? a.r / length : 0, 1 - (b.open ? b.r / length : 0)];
  // an edge is no wider than what it joins
  context.lineWidth = Math.min(0.5 + 7 * Math.sqrt(weight), Math.max(Math.min(a.r, b.r), 0.5));
  context.beginPath();
  context.moveTo(a.x + from * (b.x - a.x), a.y + from * (b.y - a.y));
  context.lineTo(a.x + to * (b.x - a.x), a.y + to * (b.y - a.y));
  context.stroke();
}

/** Names where they fit: of the chosen circle and the one under the pointer first, then of the largest. */
function paintNames(context: CanvasRenderingContext2D, scene: Scene, inks: Inks): void {
  const { circles, chosen, hovered, width, height } = scene;
  const isFirst = ({ node }: Circle): boolean => node === chosen || node === hovered;
  const named = circles.filter((circle) => isFirst(circle) || circle.r >= NAMED);
  named.sort((a, b) => Number(isFirst(b)) - Number(isFirst(a)));
  context.font = `12px ${inks.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  function* candidates(): Generator<NamedLabel> {
    for (const circle of named) {
      const text = shortened(scene.title(circle.node), LETTERS);
      const wide = context.measureText(text).width;
      // the name of an open cluster stands above it, and one that is too wide for its disk below it
      const below = wide > 2 * circle.r - 2 ? circle.r + 9 : 0;
      const y = circle.y + (circle.open ? -circle.r - 12 : below);
      yield { circle, text, x: circle.x, y, width: wide + 6, height: 17 };
    }
  }
  for (const { circle, text, x, y } of fitting(candidates(), width, height, MOST_LABELS)) {
    const onDisk = y === circle.y;
    if (!onDisk) {
      context.lineWidth = 4;
      context.strokeStyle = inks.paper;
      context.strokeText(text, x, y);
    }
    context.fillStyle = onDisk ? inkOn(colorOf(circle, scene, inks)) : inks.ink;
    context.fillText(text, x, y);
  }
}
