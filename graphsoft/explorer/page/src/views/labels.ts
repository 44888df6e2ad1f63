/** Which labels are drawn, so that none covers another. */

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
