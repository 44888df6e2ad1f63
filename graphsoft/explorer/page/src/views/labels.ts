/** Which labels are drawn, so that none covers another. */

export interface Label {
  /** The middle of the label: on the screen, or where it is in the data. */
  x: number;
  y: number;
  /** Pixels. */
  width: number;
  height: number;
}

/**
 * For each label the scale, in pixels per unit of places, from which on it can be drawn. It depends on nothing
 * else, so labels come and go with the zoom, and stay while the map is moved. Those that come first win; one at
 * the place of another never appears.
 */
export function scalesToAppear(labels: readonly Label[]): Float64Array {
  const scales = new Float64Array(labels.length).fill(Infinity);
  const earlier: number[] = []; // from left to right
  let widest = 0;
  for (const [at, { x, y, width, height }] of labels.entries()) {
    if (Number.isNaN(x)) continue;
    const place = placeIn(earlier, (other) => labels[other]!.x < x);
    let from = 0;
    for (const step of [-1, 1]) {
      for (let next = step < 0 ? place - 1 : place; next >= 0 && next < earlier.length; next += step) {
        const other = labels[earlier[next]!]!;
        const aside = Math.abs(other.x - x);
        if ((width + widest) / 2 <= from * aside) break; // from here on all are apart from it
        // from this scale on the two are apart; it counts if the other one is drawn before that
        const apart = Math.min(
          (width + other.width) / 2 / aside,
          (height + other.height) / 2 / Math.abs(other.y - y),
        );
        if (apart > from && apart > scales[earlier[next]!]!) from = apart;
      }
    }
    scales[at] = from;
    earlier.splice(place, 0, at);
    widest = Math.max(widest, width);
  }
  return scales;
}

/** How many come before a place in a sorted list. */
function placeIn(list: readonly number[], before: (item: number) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(list[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
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
