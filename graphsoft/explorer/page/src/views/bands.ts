/**
 * Where the flow between levels is drawn: a column for each level, finest first, and bands from each cluster to
 * those above that its points are in, as wide as their mass. A cluster fills the height: below it come the clusters
 * that are in it, and above it only what flows from it.
 *
 * A slot is a cluster, or several that are folded into one: small clusters with the same parent, and in each
 * column all that is outside of what fills the height.
 */
import { entries, type Data, type Rows } from "../data.ts";

export interface Slot {
  /** The level, which is the column. */
  level: number;
  /** One cluster, or those that are folded, in the order of the tree. None: all that is outside. */
  nodes: number[];
  mass: number;
  y0: number;
  y1: number;
}

export interface Band {
  from: Slot;
  to: Slot;
  mass: number;
  /** The middle of the band at both of its ends. */
  y0: number;
  y1: number;
  width: number;
}

export interface Flow {
  slots: Slot[];
  bands: Band[];
}

export interface FlowOptions {
  /** The cluster that fills the height. */
  focus: number;
  /** Its relatives are never folded. */
  chosen: number | null;
  /** Bands of smaller shares of the finer cluster are folded away. */
  least: number;
  /** In pixels, as all lengths. */
  height: number;
}

const GAPS = 0.16; // of the height, between the slots of a column
const MOST_GAP = 28;
const LEAST_SLOT = 3; // smaller clusters are folded
const LEAST_KIN = 2; // but relatives of the chosen cluster are drawn, at least this high
const LEAST_BAND = 0.1; // drawn as a line of one pixel
const MOST_BANDS = 1500;
const MOST_CHILDREN = 12; // of the chosen cluster, that are not folded

/** All clusters, level by level, so that those with the same likeliest parent stand together. */
export function treeOrder(data: Data): number[][] {
  const levels: number[][] = data.levels.map(() => []);
  let row = [...data.children(data.root)];
  for (let level = data.levels.length - 1; level >= 0; level--) {
    levels[level] = row;
    row = row.flatMap((node) => [...data.children(node)]);
  }
  return levels;
}

/** Place slots and bands. `order` is `treeOrder`, and `flows` has the rows of each level but the top one. */
export function flowOf(data: Data, order: number[][], flows: readonly Rows[], options: FlowOptions): Flow {
  const slots = slotsOf(data, order, flows, options);
  const bands = bandsOf(data, order, flows, slots, options.least);
  return place(slots, bands, options);
}

/** The slots of a page's clusters, and what is outside in each column. */
interface Slots {
  /** From the top of each column to its bottom. */
  columns: Slot[][];
  of: Map<number, Slot>;
  outside: Slot[];
  /** The level of what fills the height. */
  top: number;
  kin: ReadonlySet<number>;
}

function slotsOf(data: Data, order: number[][], flows: readonly Rows[], options: FlowOptions): Slots {
  const { focus, height } = options;
  const top = data.levelOf(focus);
  const kin = kinOf(data, flows, options);
  const columns: Slot[][] = data.levels.map(() => []);
  const of = new Map<number, Slot>();
  const make = (level: number, nodes: number[], mass: number): Slot => {
    const slot = { level, nodes, mass, y0: 0, y1: 0 };
    columns[level]!.push(slot);
    for (const node of nodes) of.set(node, slot);
    return slot;
  };
  const above = upward(data, flows, focus);
  for (let level = data.levels.length - 1; level >= top; level--) {
    for (const node of order[level]!) if (above.has(node)) make(level, [node], above.get(node)!);
  }
  const smallest = (LEAST_SLOT * data.mass(focus)) / ((1 - GAPS) * Math.max(height, 1));
  for (let level = Math.min(top, data.levels.length) - 1; level >= 0; level--) {
    // small ones stand where the first one of the same parent would stand
    const folded = new Map<Slot | null, Slot>();
    for (const node of order[level]!) {
      if (!data.path(node).includes(focus)) continue;
      const parent = of.get(data.parent(node)!) ?? null;
      const mass = data.mass(node);
      if (mass >= smallest || kin.has(node)) {
        make(level, [node], mass);
        continue;
      }
      const fold = folded.get(parent);
      if (!fold) folded.set(parent, make(level, [node], mass));
      else {
        fold.nodes.push(node);
        fold.mass += mass;
        of.set(node, fold);
      }
    }
  }
  const outside = data.levels.map((_, level) => ({ level, nodes: [], mass: 0, y0: 0, y1: 0 }));
  return { columns, of, outside, top, kin };
}

/** How much of a cluster's mass flows to each cluster above it, itself included. */
function upward(data: Data, flows: readonly Rows[], focus: number): Map<number, number> {
  const found = new Map<number, number>();
  if (focus === data.root) return found;
  found.set(focus, data.mass(focus));
  // a map keeps its order, so that what is added is visited in turn
  for (const [node, mass] of found) {
    const level = data.levelOf(node);
    const rows = flows[level];
    if (!rows) continue;
    for (const [index, share] of entries(rows, data.indexOf(node))) {
      const above = data.nodeAt(level + 1, index);
      found.set(above, (found.get(above) ?? 0) + mass * share);
    }
  }
  return found;
}

/** The chosen cluster, its path in the tree, and those with the widest bands to it. */
function kinOf(data: Data, flows: readonly Rows[], { chosen, least }: FlowOptions): Set<number> {
  const kin = new Set<number>();
  if (chosen === null) return kin;
  const level = data.levelOf(chosen);
  const index = data.indexOf(chosen);
  for (const node of data.path(chosen)) kin.add(node);
  const rows = flows[level];
  if (rows) {
    for (const [above, share] of entries(rows, index))
      if (share >= least) kin.add(data.nodeAt(level + 1, above));
  }
  const below = flows[level - 1];
  if (!below) return kin;
  const children: [node: number, mass: number][] = [];
  for (let child = 0; child < below.start.length - 1; child++) {
    for (const [above, share] of entries(below, child)) {
      if (above !== index || share < least) continue;
      const node = data.nodeAt(level - 1, child);
      children.push([node, share * data.mass(node)]);
    }
  }
  children.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  for (const [node] of children.slice(0, MOST_CHILDREN)) kin.add(node);
  return kin;
}

/** Add up what flows from slot to slot; of what is outside, only what flows in or comes out. */
function bandsOf(
  data: Data,
  order: number[][],
  flows: readonly Rows[],
  { columns, of, outside, top }: Slots,
  least: number,
): Band[] {
  const bands: Band[] = [];
  for (const [level, rows] of flows.entries()) {
    const above = data.levels[level + 1]!;
    const found = new Map<Slot, Map<Slot, Band>>();
    for (const node of order[level]!) {
      const inside = of.get(node);
      const from = inside ?? outside[level]!;
      const mass = level < top ? data.mass(node) : (inside?.mass ?? 0);
      for (const [index, share] of entries(rows, data.indexOf(node))) {
        const target = of.get(above.first + index);
        if (share < least || !mass || (!inside && !target)) continue;
        const to = target ?? outside[level + 1]!;
        let ends = found.get(from);
        if (!ends) found.set(from, (ends = new Map<Slot, Band>()));
        const band = ends.get(to);
        if (band) band.mass += mass * share;
        else ends.set(to, { from, to, mass: mass * share, y0: 0, y1: 0, width: 0 });
      }
    }
    for (const ends of found.values()) bands.push(...ends.values());
  }
  for (const slot of outside) {
    const sum = (side: "from" | "to"): number =>
      bands.reduce((mass, band) => mass + (band[side] === slot ? band.mass : 0), 0);
    slot.mass = Math.max(sum("from"), sum("to"));
    if (slot.mass) columns[slot.level]!.push(slot);
  }
  return bands;
}

function place({ columns, of, kin }: Slots, bands: Band[], { height, chosen }: FlowOptions): Flow {
  const total = Math.max(...columns.map((column) => column.reduce((sum, slot) => sum + slot.mass, 0)));
  const least = (slot: Slot): number => (slot.nodes.length === 1 && kin.has(slot.nodes[0]!) ? LEAST_KIN : 0);
  const lifted = Math.max(...columns.map((column) => column.reduce((sum, slot) => sum + least(slot), 0)));
  const scale = Math.max((1 - GAPS) * height - lifted, 1) / (total || 1);
  for (const column of columns) {
    for (const slot of column) slot.y1 = Math.max(slot.mass * scale, least(slot));
    const filled = column.reduce((sum, slot) => sum + slot.y1, 0);
    const gap = Math.min(Math.max(height - filled, 0) / Math.max(column.length - 1, 1), MOST_GAP);
    let y = Math.max(height - filled - gap * (column.length - 1), 0) / 2;
    for (const slot of column) {
      slot.y0 = y;
      slot.y1 += y;
      y = slot.y1 + gap;
    }
  }
  const emphasized = chosen === null ? undefined : of.get(chosen);
  const seen = bands
    .filter((band) => {
      band.width = band.mass * scale;
      return band.width >= LEAST_BAND || band.from === emphasized || band.to === emphasized;
    })
    .sort((a, b) => b.mass - a.mass)
    .slice(0, MOST_BANDS);
  stack(seen, "from", "to", "y0");
  stack(seen, "to", "from", "y1");
  return { slots: columns.flat(), bands: seen };
}

/** Lay the bands at one side of their slots below each other, in the order of their other ends. */
function stack(bands: Band[], side: "from" | "to", other: "from" | "to", y: "y0" | "y1"): void {
  const next = new Map<Slot, number>();
  for (const band of [...bands].sort((a, b) => a[other].y0 - b[other].y0)) {
    const begin = next.get(band[side]) ?? band[side].y0;
    band[y] = begin + band.width / 2;
    next.set(band[side], begin + band.width);
  }
}

/** The outline of a band between two columns, at x0 and x1. */
export function bandPath({ y0, y1, width }: Band, x0: number, x1: number): string {
  const half = Math.max(width, 1) / 2;
  const middle = (x0 + x1) / 2;
  const at = (x: number, y: number): string => `${x.toFixed(1)},${y.toFixed(1)}`;
  return (
    `M${at(x0, y0 - half)}C${at(middle, y0 - half)} ${at(middle, y1 - half)} ${at(x1, y1 - half)}` +
    `L${at(x1, y1 + half)}C${at(middle, y1 + half)} ${at(middle, y0 + half)} ${at(x0, y0 + half)}Z`
  );
}
