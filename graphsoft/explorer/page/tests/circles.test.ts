import assert from "node:assert/strict";
import { test } from "node:test";
import { Data, type Rows } from "../src/data.ts";
import {
  boxOf,
  circleBeside,
  circleHolding,
  circlesOf,
  closest,
  edgesAmong,
  type Circle,
} from "../src/views/circles.ts";
import { computed, mixed } from "../src/format.ts";
import { madeSource } from "./made.ts";

async function made(): Promise<{
  data: Data;
  places: Float32Array[];
  graphs: Map<number, Rows>;
  node: (id: string) => number;
}> {
  const data = await Data.open(madeSource().source);
  const places = await Promise.all(data.levels.map((_, level) => data.circles(level)));
  const links = await Promise.all(data.levels.map((_, level) => data.links(level)));
  const graphs = new Map(links.map(({ graph }, level) => [level, graph]));
  return { data, places, graphs, node: (id) => data.node(id)! };
}

const apart = (a: Circle, b: Circle): boolean => Math.hypot(a.x - b.x, a.y - b.y) >= a.r + b.r - 1e-6;

test("children take the place of a cluster that is open, within its circle", async () => {
  const { data, places, node } = await made();
  const closed = circlesOf(data, places, 1, new Set());
  assert.deepEqual(
    closed.map((circle) => data.id(circle.node)),
    ["1-0", "1-1"],
  );
  const open = circlesOf(data, places, 1, new Set([node("1-0"), node("0-0")]));
  assert.deepEqual(
    open.map((circle) => data.id(circle.node)),
    ["1-0", "0-0", "1-1", "0-1"],
  );
  const [outer, left, , right] = open as [Circle, Circle, Circle, Circle];
  assert.ok(outer.open && !left.open && apart(left, right) && left.x < right.x);
  for (const child of [left, right]) {
    assert.ok(Math.hypot(child.x - outer.x, child.y - outer.y) + child.r <= outer.r);
  }
  assert.ok(Math.abs(left.r / right.r - 1.5) < 1e-6);
});

test("circles come as close as the first two of all pairs let them", () => {
  for (const count of [0, 1, 2, 60]) {
    const circles = Array.from({ length: count }, (_, node) => {
      const [x, y] = [(node * 37) % 101, (node * 53) % 89];
      return { node, x, y, r: 0.1 + (node % 7) / 20, open: false };
    });
    const pairs = circles.flatMap((a, at) => circles.slice(at + 1).map((b) => [a, b] as const));
    const factors = pairs.map(([a, b]) => (1.3 * (a.r + b.r)) / Math.hypot(a.x - b.x, a.y - b.y));
    assert.equal(closest(circles), pairs.length ? Math.max(...factors) : 1);
  }
});

test("edges join circles of one level, each once, and leave two open ones to their children", async () => {
  const { data, places, graphs, node } = await made();
  const among = (level: number, open: string[], most = 9): string[] => {
    const circles = circlesOf(data, places, level, new Set(open.map(node)));
    return edgesAmong(data, circles, graphs, most).map(({ a, b }) => `${data.id(a.node)} ${data.id(b.node)}`);
  };
  assert.deepEqual(among(0, []), ["0-0 0-1", "0-1 0-2"]);
  assert.deepEqual(among(0, [], 1), ["0-0 0-1"]);
  assert.deepEqual(among(1, []), ["1-0 1-1"]);
  assert.deepEqual(among(1, ["1-0"]).sort(), ["0-0 0-1", "1-0 1-1"]);
  assert.deepEqual(among(1, ["1-0", "1-1"]), ["0-0 0-1", "0-1 0-2"]);
});

test("places find their innermost circle, and arrows the nearest one ahead", async () => {
  const { data, places, node } = await made();
  const circles = circlesOf(data, places, 1, new Set([node("1-0")]));
  const of = (id: string): Circle => circles.find((circle) => circle.node === node(id))!;
  assert.equal(circleHolding(circles, of("0-1").x, of("0-1").y), of("0-1"));
  assert.equal(circleHolding(circles, of("1-0").x, of("1-0").y + 0.39), of("1-0"));
  assert.equal(circleHolding(circles, 5, 5), null);
  assert.equal(circleBeside(circles, of("0-0"), 1, 0), of("0-1"));
  assert.equal(circleBeside(circles, of("0-1"), 0, 1), of("1-1"));
  assert.equal(circleBeside(circles, of("0-0"), -1, 0), null);
  const box = boxOf(places[1]!).map((side) => Number(side.toFixed(3)));
  assert.deepEqual(box, [-0.2, -0.4, 1.2, 1.2]);
});

test("faint colors are mixed with paper", () => {
  assert.deepEqual(computed("rgb(16, 32, 48)"), [16, 32, 48]);
  assert.deepEqual(mixed([200, 100, 0], [255, 255, 255], 1), [200, 100, 0]);
  assert.deepEqual(mixed([200, 100, 0], computed("rgb(16, 32, 48)"), 0), [16, 32, 48]);
  assert.deepEqual(mixed([200, 100, 0], [0, 0, 0], 0.5), [100, 50, 0]);
});
