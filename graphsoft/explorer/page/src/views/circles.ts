/**
 * Where clusters are drawn in their map: as the circles of a level, which Python has placed, or inside of a
 * cluster that is open. Also which edges between them are drawn, and which circle is where.
 */
import { packEnclose } from "d3-hierarchy";
import { entries, type Data, type Rows } from "../data.ts";

export interface Circle {
  node: number;
  x: number;
  y: number;
  r: number;
  /** Its children are drawn in it. */
  open: boolean;
}

export interface Edge {
  a: Circle;
  b: Circle;
  /** A part of the largest weight of the level. */
  weight: number;
}

/** x, y and radius of the clusters of each level, one cluster after another. */
export type Places = readonly Float32Array[];

const INSIDE = 0.92; // of an open circle, that its children fill
const APART = 1.3; // times the sum of two radii: how close children come at most

/** The circles of a level and of what is open, the largest first: so children come after what they are in. */
export function circlesOf(data: Data, places: Places, level: number, open: ReadonlySet<number>): Circle[] {
  const found: Circle[] = [];
  for (let index = 0; index < data.levels[level]!.clusters; index++)
    found.push(circleAt(places[level]!, data.nodeAt(level, index), index));
  // the list grows while it is walked, so that children can be open too
  for (const circle of found) {
    const children = data.children(circle.node);
    if (!open.has(circle.node) || !children.length) continue;
    circle.open = true;
    const below = places[data.levelOf(circle.node) - 1]!;
    const inside = [...children].map((node) => circleAt(below, node, data.indexOf(node)));
    for (const child of within(inside, circle)) found.push(child);
  }
  return found.sort((a, b) => b.r - a.r);
}

function circleAt(places: Float32Array, node: number, index: number): Circle {
  const [x, y, r] = places.subarray(3 * index, 3 * index + 3);
  return { node, x: x!, y: y!, r: r!, open: false };
}

/** Move and scale circles, so that all of them fill another one. Far ones come closer, as long as none touch. */
function within(circles: Circle[], outer: Circle): Circle[] {
  const closer = Math.min(closest(circles), 1);
  const moved = circles.map(({ x, y, r }) => ({ x: x * closer, y: y * closer, r }));
  const around = packEnclose(moved);
  const scale = (INSIDE * outer.r) / (around.r || 1);
  return circles.map((circle, at) => ({
    ...circle,
    x: outer.x + (moved[at]!.x - around.x) * scale,
    y: outer.y + (moved[at]!.y - around.y) * scale,
    r: circle.r * scale,
  }));
}

/** The factor by which distances shrink until the first two circles are as close as they may come. */
export function closest(circles: readonly Circle[]): number {
  if (circles.length < 2) return 1;
  const largest = circles.reduce((most, { r }) => Math.max(most, r), 0);
  const fromLeft = [...circles].sort((a, b) => a.x - b.x);
  let factor = 0;
  for (const [at, a] of fromLeft.entries()) {
    // those further to the right are too far away to matter
    for (let next = at + 1; next < fromLeft.length; next++) {
      const b = fromLeft[next]!;
      if ((b.x - a.x) * factor >= APART * (a.r + largest)) break;
      factor = Math.max(factor, (APART * (a.r + b.r)) / (Math.hypot(a.x - b.x, a.y - b.y) || 1));
    }
  }
  return factor;
}

/** The heaviest edges between circles of the same level; between two open ones their children have them. */
export function edgesAmong(
  data: Data,
  circles: readonly Circle[],
  graphs: ReadonlyMap<number, Rows>,
  most: number,
): Edge[] {
  const drawn = new Map(circles.map((circle) => [circle.node, circle]));
  const edges = new Map<number, Edge>();
  for (const [level, rows] of graphs) {
    let largest = 0;
    for (const weight of rows.value) largest = Math.max(largest, weight);
    for (let index = 0; index < rows.start.length - 1; index++) {
      const a = drawn.get(data.nodeAt(level, index));
      if (!a) continue;
      for (const [other, weight] of entries(rows, index)) {
        const b = drawn.get(data.nodeAt(level, other));
        if (!b || (a.open && b.open)) continue;
        const key = Math.min(a.node, b.node) * data.root + Math.max(a.node, b.node);
        if (!edges.has(key)) edges.set(key, { a, b, weight: weight / largest });
      }
    }
  }
  return [...edges.values()].sort((a, b) => b.weight - a.weight).slice(0, most);
}

export type Box = [x0: number, y0: number, x1: number, y1: number];

/** The box around all circles of a level. */
export function boxOf(places: Float32Array): Box {
  const box: Box = [Infinity, Infinity, -Infinity, -Infinity];
  for (let at = 0; at < places.length; at += 3) {
    const [x, y, r] = [places[at]!, places[at + 1]!, places[at + 2]!];
    box[0] = Math.min(box[0], x - r);
    box[1] = Math.min(box[1], y - r);
    box[2] = Math.max(box[2], x + r);
    box[3] = Math.max(box[3], y + r);
  }
  return box;
}

/** The innermost circle that holds a place. */
export function circleHolding(circles: readonly Circle[], x: number, y: number): Circle | null {
  for (let at = circles.length - 1; at >= 0; at--) {
    const circle = circles[at]!;
    if (Math.hypot(x - circle.x, y - circle.y) <= circle.r) return circle;
  }
  return null;
}

/** The nearest circle in a direction of x or y: what lies aside counts twice. */
export function circleBeside(
  circles: readonly Circle[],
  from: Circle,
  toX: number,
  toY: number,
): Circle | null {
  let best: Circle | null = null;
  let least = Infinity;
  for (const circle of circles) {
    const ahead = (circle.x - from.x) * toX + (circle.y - from.y) * toY;
    const aside = Math.abs((circle.x - from.x) * toY) + Math.abs((circle.y - from.y) * toX);
    if (circle === from || circle.open || ahead <= 0 || ahead < aside / 2) continue;
    const distance = Math.hypot(ahead, 2 * aside);
    if (distance < least) {
      least = distance;
      best = circle;
    }
  }
  return best;
}
