import assert from "node:assert/strict";
import { test } from "node:test";
import { Data } from "../src/data.ts";
import { inkOn, luminance, number, percent } from "../src/format.ts";
import { cellAt, icicleCells, massTree, treemapCells, zoomedIcicle } from "../src/views/cells.ts";
import { inTreeOrder, largestOf } from "../src/views/confusion.ts";
import { fitting } from "../src/views/labels.ts";
import { drawDots } from "../src/views/raster.ts";
import { blended, centers, emphasized } from "../src/views/shading.ts";
import { madeSource, madeTree } from "./made.ts";

test("cells of an icicle are as wide as their mass, and within their parents", async () => {
  const data = await Data.open(madeSource().source);
  const cells = icicleCells(massTree(data));
  const of = (id: string): (typeof cells)[number] => cells.find((cell) => cell.node === data.node(id))!;
  assert.equal(cells.length, 6);
  assert.ok(Math.abs(of("0-0").x1 - of("0-0").x0 - 3 / 6) < 1e-9);
  assert.equal(of("0-1").x1, of("1-0").x1);
  const zoomed = zoomedIcicle(cells, of("1-0"));
  assert.deepEqual(new Set(zoomed.map((cell) => data.id(cell.node))), new Set(["1-0", "0-0", "0-1"]));
  assert.equal(Math.max(...zoomed.map((cell) => cell.y1)), 1);
  assert.equal(data.id(cellAt(zoomed, 0.99, 0.99)!.node), "0-1");
  assert.equal(cellAt(zoomed, 1.5, 0.5), null);
});

test("a treemap ends at its level", async () => {
  const data = await Data.open(madeSource().source);
  const size = { width: 300, height: 200, line: 10 };
  assert.equal(treemapCells(massTree(data), data.root, 1, data, size).length, 3);
  assert.equal(treemapCells(massTree(data), 3, 0, data, size).length, 3);
});

test("labels never cover each other, and the first ones win", () => {
  const label = (x: number, y: number): { x: number; y: number; width: number; height: number } => {
    return { x, y, width: 100, height: 20 };
  };
  const labels = [label(60, 15), label(100, 20), label(60, 36), label(1, 100), label(165, 15)];
  assert.deepEqual(fitting(labels, 300, 200, 9), [labels[0], labels[2], labels[4]]);
  const many = Array.from({ length: 500 }, (_, at) => label((at * 37) % 1000, (at * 91) % 700));
  const taken = fitting(many, 1000, 700, 500);
  for (const a of taken) {
    for (const b of taken) assert.ok(a === b || Math.abs(a.x - b.x) >= 100 || Math.abs(a.y - b.y) >= 20);
  }
});

test("dots are blended over what is there, and none is drawn beyond the edge", () => {
  const values = new Uint32Array(100).fill(0xffffffff);
  const rgba = Uint8Array.of(255, 0, 0, 255, 0, 0, 0, 128, 0, 0, 0, 255);
  const dots = { count: 3, x: [2, 7, 500], y: [2, 7, 3], rgba };
  drawDots({ width: 10, height: 10, values }, dots, { scaleX: 1, scaleY: 1, x: 0, y: 0 }, 1);
  assert.equal(values[22], 0xff0000ff);
  assert.equal(values[77]! & 255, 127);
  assert.equal(values.filter((value) => value !== 0xffffffff).length, 10);
});

test("colors blend by membership, and torn points are faint", async () => {
  const data = await Data.open(madeSource().source);
  const shares = await data.shares(0);
  const rgba = blended(shares, data.levels[0]!.color);
  assert.deepEqual([...rgba.subarray(0, 4)], [200, 0, 0, 255]);
  for (const [at, part] of [120, 80, 0].entries()) assert.ok(Math.abs(rgba[4 + at]! - part) <= 1);
  assert.ok(rgba[7]! < 200);
  const other = emphasized(rgba, shares, 1);
  assert.ok(other[3]! < other[7]! && other[7]! < other[11]!);
  const { x, y } = await data.points();
  assert.deepEqual(centers(shares, 3, x, y)[2], { x: 65535, y: 65535 });
});

test("numbers are short, and letters can be read on every color", () => {
  assert.deepEqual([percent(0.5), percent(0.012), percent(0)], ["50 %", "1.2 %", "0 %"]);
  assert.deepEqual([number(0.123456), number(12345.6)], ["0.1235", "12,346"]);
  for (let at = 0; at < 4096; at++) {
    const color = [((at >> 8) & 15) * 17, ((at >> 4) & 15) * 17, (at & 15) * 17] as const;
    const [ink, paper] = [inkOn(color) === "#000" ? 0 : 1, luminance(color)];
    const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    assert.ok(contrast >= 4.5);
  }
});

test("very many labels in a cluster, and children of one, do not fill the stack", async () => {
  const data = await Data.open(madeTree(200_000, 1));
  assert.equal(inTreeOrder(data, 0).size, 200_000);
  assert.equal(largestOf(new Map(Array.from({ length: 200_000 }, (_, label) => [label, label % 7]))), 6);
  assert.equal(largestOf(new Map()), 0);
});
