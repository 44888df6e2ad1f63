/** Where each cluster is drawn: as an icicle, or as a treemap. All lengths are parts of the whole area. */
import {
  hierarchy,
  partition,
  treemap,
  type HierarchyNode,
  type HierarchyRectangularNode,
} from "d3-hierarchy";
import type { Data } from "../data.ts";

export interface Cell {
  node: number;
  x0: number;
  y0: number;
  x1: number;
  y1: number;
}

type Placed = HierarchyRectangularNode<number>;

/**
 * The tree, with the mass that each cluster has in the tree: that of the finest clusters below it. It differs a
 * little from the cluster's own mass where clusters have several parents, but areas must add up.
 */
export function massTree(data: Data): HierarchyNode<number> {
  const tree = hierarchy<number>(data.root, (node) => data.children(node));
  return tree.sum((node) => (data.children(node).length ? 0 : data.mass(node)));
}

/** The icicle of the whole tree: across from 0 to 1, down from level to level in steps of 1. */
export function icicleCells(tree: HierarchyNode<number>): Cell[] {
  const placed = partition<number>().size([1, tree.height + 1])(tree.copy());
  return placed.descendants().map(cellOf);
}

// The zoomed node says little: its row is lower than the others, by this part.
const LOWER = 0.5;

/** The part of an icicle that a node fills, with the cells below it, as parts of its area. */
export function zoomedIcicle(cells: readonly Cell[], focus: Cell): Cell[] {
  const width = Math.max(focus.x1 - focus.x0, Number.MIN_VALUE);
  const bottom = cells.reduce((most, cell) => Math.max(most, cell.y1), 0);
  const rows = bottom - focus.y0;
  const down = (row: number): number =>
    Math.max(row - focus.y0 - LOWER, (row - focus.y0) * (1 - LOWER)) / (rows - LOWER);
  const found = [];
  for (const cell of cells) {
    if (cell.y0 < focus.y0 || cell.x1 <= focus.x0 || cell.x0 >= focus.x1) continue;
    found.push({
      node: cell.node,
      x0: (cell.x0 - focus.x0) / width,
      x1: (cell.x1 - focus.x0) / width,
      y0: down(cell.y0),
      y1: down(cell.y1),
    });
  }
  return found;
}

/** A treemap of what is below a node, down to a level; parents leave a line for their names. */
export function treemapCells(
  tree: HierarchyNode<number>,
  focus: number,
  lowest: number,
  data: Data,
  size: { width: number; height: number; line: number },
): Cell[] {
  const found = tree.find((node) => node.data === focus) ?? tree;
  const part = found.copy();
  part.eachBefore((node) => {
    if (data.levelOf(node.data) <= lowest) delete node.children;
  });
  const { width, height, line } = size;
  const placed = treemap<number>()
    .size([width, height])
    .paddingInner(1)
    .paddingTop((node) => (node.x1 - node.x0 > 4 * line && node.y1 - node.y0 > 3 * line ? line : 0))(part);
  return placed.descendants().map((node) => {
    const { x0, x1, y0, y1 } = node;
    return { node: node.data, x0: x0 / width, x1: x1 / width, y0: y0 / height, y1: y1 / height };
  });
}

/** The last cell that holds a place: cells of children come after those of their parents. */
export function cellAt(cells: readonly Cell[], x: number, y: number): Cell | null {
  for (let at = cells.length - 1; at >= 0; at--) {
    const cell = cells[at]!;
    if (x >= cell.x0 && x < cell.x1 && y >= cell.y0 && y < cell.y1) return cell;
  }
  return null;
}

function cellOf(node: Placed): Cell {
  return { node: node.data, x0: node.x0, y0: node.y0, x1: node.x1, y1: node.y1 };
}
