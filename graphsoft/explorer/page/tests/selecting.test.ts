import assert from "node:assert/strict";
import { test } from "node:test";
import { Data } from "../src/data.ts";
import { mostTorn, pointsOf } from "../src/selecting.ts";
import { Store } from "../src/state.ts";
import { csv, tableOf } from "../src/table.ts";
import { scalesToAppear } from "../src/views/labels.ts";
import { isWithin, pointsWithin, type Corner } from "../src/views/lasso.ts";
import { madeSource } from "./made.ts";

/** The same numbers in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test("what is within a line is so for every kind of line", () => {
  const square: Corner[] = [
    [0, 0],
    [4, 0],
    [4, 4],
    [0, 4],
  ];
  assert.ok(isWithin(square, 1, 3));
  for (const [x, y] of [
    [-1, 2],
    [5, 2],
    [2, -1],
    [2, 5],
  ] as const)
    assert.ok(!isWithin(square, x, y));
  // the two lobes of an eight are within, and so is no place beside its waist
  const eight: Corner[] = [
    [0, 0],
    [4, 0],
    [0, 4],
    [4, 4],
  ];
  assert.deepEqual(
    [isWithin(eight, 2, 1), isWithin(eight, 2, 3), isWithin(eight, 1, 2), isWithin(eight, 3, 2)],
    [true, true, false, false],
  );
  assert.equal(isWithin([], 1, 1), false);
});

test("a lasso takes the points whose places on the screen are within", async () => {
  const points = await (await Data.open(madeSource().source)).points();
  const at = { scaleX: 0.001, scaleY: -0.001, x: 10, y: 80 };
  const line: Corner[] = [
    [0, 70],
    [20, 70],
    [20, 90],
    [0, 90],
  ];
  assert.deepEqual([...pointsWithin(line, points, at)], [0, 1, 2]);
  assert.equal(pointsWithin([[0, 0]], points, at).length, 0);
});

test("points are found by cluster and label, and by how torn they are", async () => {
  const data = await Data.open(madeSource().source);
  const shares = await data.shares(0);
  const points = { ...(await data.points()), label: Uint8Array.of(0, 1, 1, 0, 1) };
  assert.deepEqual([...pointsOf(1, null, shares, points)], [2, 3]);
  assert.deepEqual([...pointsOf(1, 1, shares, points)], [2]);
  assert.deepEqual([...pointsOf(null, 0, shares, points)], [0, 3]);
  assert.deepEqual(mostTorn(shares, 3), [1]);
});

test("a table has names, texts and the clusters of every level", async () => {
  const data = await Data.open(madeSource().source);
  const store = new Store(data, "points");
  store.rename(0, "=cmd()");
  const [header, row] = await tableOf(Uint32Array.of(1), data, store);
  assert.deepEqual(header!.slice(0, 5), ["name", "text", "level_0", "cluster_0", "probabilities_0"]);
  assert.deepEqual(row!.slice(0, 5), ["b", "two", 0, "=cmd()", "0-0 0.600; 0-1 0.400"]);
});

test("no text in a table is run by a spreadsheet, and all can be told apart", () => {
  const texts = [
    "=1",
    "+a",
    "-a",
    "@a",
    "\ta",
    "\ra",
    "\0a",
    "'=1",
    "''+",
    "-1",
    "+1.5",
    "1",
    'a"b',
    "a,b\nc",
    "",
  ];
  const safe = [
    "'=1",
    "'+a",
    "'-a",
    "'@a",
    "'\ta",
    "'\ra",
    "'\0a",
    "''=1",
    "'''+",
    "-1",
    "+1.5",
    "1",
    'a""b',
    "a,b\nc",
    "",
  ];
  for (const [at, text] of texts.entries()) assert.equal(csv([[text]]), `"${safe[at]!}"\n`);
  assert.equal(csv([["a", 1, 0.5]]), '"a",1,0.5\n');
});

test("labels appear at the scale that a look at all pairs gives", () => {
  const random = numbers(3);
  const labels = Array.from({ length: 300 }, (_, at) => ({
    x: at % 9 ? random() ** 3 * 100 : 50,
    y: random() * 100,
    width: 5 + 60 * random(),
    height: 5 + 20 * random(),
  }));
  const expected: number[] = [];
  for (const [at, a] of labels.entries()) {
    const apart = labels
      .slice(0, at)
      .map((b) =>
        Math.min(
          (a.width + b.width) / 2 / Math.abs(b.x - a.x),
          (a.height + b.height) / 2 / Math.abs(b.y - a.y),
        ),
      );
    expected.push(Math.max(0, ...apart.filter((scale, other) => scale > expected[other]!)));
  }
  assert.deepEqual([...scalesToAppear(labels)], expected);
});

test("labels never cover each other at any zoom, and once there they stay", () => {
  const random = numbers(7);
  const labels = Array.from({ length: 120 }, () => ({
    x: random() * 100,
    y: random() * 100,
    width: 20 + 60 * random(),
    height: 20,
  }));
  labels.push({ ...labels[0]! }, { x: NaN, y: NaN, width: 9, height: 9 });
  const from = scalesToAppear(labels);
  assert.equal(from[0], 0);
  assert.deepEqual([...from.subarray(-2)], [Infinity, Infinity]);
  for (const scale of [0.1, 1, 3, 10, 40, 200, 5000]) {
    const shown = labels.filter((_, at) => from[at]! <= scale);
    for (const [at, a] of shown.entries()) {
      for (const b of shown.slice(at + 1)) {
        const wide = Math.abs(a.x - b.x) * scale >= (a.width + b.width) / 2 - 1e-6;
        assert.ok(wide || Math.abs(a.y - b.y) * scale >= (a.height + b.height) / 2 - 1e-6);
      }
    }
  }
});
