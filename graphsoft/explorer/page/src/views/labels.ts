/** Which labels are drawn, so that none covers another. */

/** A label at a place of the data, whose size is in pixels. */
export interface Placed {
  x: number;
  y: number;
  width: number;
  height: number;
}

/**
 * For each label the scale, in pixels per unit of places, from which on it can be drawn. It depends on nothing
 * else, so labels come and go with the zoom, and stay while the map is moved. Those that come first win.
 */
export function scalesToAppear(labels: readonly Placed[], largest: number): Float64Array {
  const scales = new Float64Array(labels.length).fill(Infinity);
  const kept: number[] = [];
  for (const [at, label] of labels.entries()) {
    if (Number.isNaN(label.x)) continue;
    let from = 0;
    for (const other of kept) {
      const { x, y, width, height } = labels[other]!;
      // from this scale on the two are apart; it counts if the other one is drawn before that
      const apart = Math.min(
        (width + label.width) / 2 / Math.abs(x - label.x),
        (height + label.height) / 2 / Math.abs(y - label.y),
      );
      if (apart > from && apart > scales[other]!) {
        from = apart;
        if (from > largest) break;
      }
    }
    if (from > largest) continue;
    scales[at] = from;
    kept.push(at);
  }
  return scales;
}

export interface Label {
  /** The middle of the label. */
  x: number;
  y: number;
  width: number;
  height: number;
}

const CELL = 64; // pixels of the grid in which neighbors are looked for

/** Take labels in their order, and leave out each that would cover one that was taken, or leave the area. */
export function fitting<T extends Label>(
  labels: Iterable<T>,
  width: number,
  height: number,
  most: number,
): T[] {
  const taken: T[] = [];
  const grid = new Map<number, T[]>();
  for (const label of labels) {
    if (taken.length >= most) break;
    const left = label.x - label.width / 2;
    const top = label.y - label.height / 2;
    if (!(left >= 0 && top >= 0 && left + label.width <= width && top + label.height <= height)) continue;
    const cells = [...cellsOf(left, top, label)];
    if (cells.some((cell) => grid.get(cell)?.some((other) => overlap(label, other)))) continue;
    for (const cell of cells) {
      const there = grid.get(cell);
      if (there) there.push(label);
      else grid.set(cell, [label]);
    }
    taken.push(label);
  }
  return taken;
}

function* cellsOf(left: number, top: number, label: Label): Generator<number> {
  for (let row = Math.floor(top / CELL); row <= Math.floor((top + label.height) / CELL); row++) {
    for (let at = Math.floor(left / CELL); at <= Math.floor((left + label.width) / CELL); at++)
      yield row * 4096 + at;
  }
}

function overlap(a: Label, b: Label): boolean {
  return Math.abs(a.x - b.x) * 2 < a.width + b.width && Math.abs(a.y - b.y) * 2 < a.height + b.height;
}
