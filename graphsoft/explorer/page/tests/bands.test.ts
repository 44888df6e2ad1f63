import assert from "node:assert/strict";
import { test } from "node:test";
import { Data, type Rows } from "../src/data.ts";
import { bandPath, flowOf, treeOrder, type Band, type Flow, type FlowOptions } from "../src/views/bands.ts";
import { madeSource, madeTree } from "./made.ts";

const HEIGHT = 300;

async function made(
  source = madeSource().source,
): Promise<{ data: Data; flow: (change?: Partial<FlowOptions>) => Flow }> {
  const data = await Data.open(source);
  const below = data.levels.slice(0, -1).map((_, level) => data.links(level));
  const flows: Rows[] = (await Promise.all(below)).map((links) => links.flow!);
  const options = { focus: data.root, chosen: null, least: 0, height: HEIGHT };
  const flow = (change = {}): Flow => flowOf(data, treeOrder(data), flows, { ...options, ...change });
  return { data, flow };
}

/** Bands as "0-1 > 1-0", with their masses; what is outside is "*", and folded clusters are joined by "+". */
function texts(data: Data, { bands }: Flow): Record<string, number> {
  const name = ({ nodes }: Band["from"]): string => nodes.map((node) => data.id(node)).join("+") || "*";
  return Object.fromEntries(bands.map((band) => [`${name(band.from)} > ${name(band.to)}`, band.mass]));
}

test("a band is as wide as the mass of a cluster's points in one above, and stands within both of its slots", async () => {
  const { data, flow } = await made();
  const found = flow();
  assert.deepEqual(texts(data, found), {
    "0-0 > 1-0": 3,
    "0-1 > 1-0": 1.5,
    "0-1 > 1-1": 0.5,
    "0-2 > 1-1": 1,
  });
  const widths = new Set(found.bands.map((band) => (band.width / band.mass).toFixed(9)));
  assert.equal(widths.size, 1);
  for (const { from, to, y0, y1, width } of found.bands) {
    assert.ok(y0 - width / 2 > from.y0 - 1e-6 && y0 + width / 2 < from.y1 + 1e-6);
    assert.ok(y1 - width / 2 > to.y0 - 1e-6 && y1 + width / 2 < to.y1 + 1e-6);
  }
});

test("slots of a column are in the order of the tree, apart from each other and within the height", async () => {
  for (const source of [madeSource().source, madeTree(400, 40, 4)]) {
    const { data, flow } = await made(source);
    const { slots } = flow();
    for (const level of data.levels.keys()) {
      const column = slots.filter((slot) => slot.level === level);
      const order = treeOrder(data)[level]!;
      assert.deepEqual(
        column.flatMap(({ nodes }) => nodes).sort((a, b) => order.indexOf(a) - order.indexOf(b)),
        order,
      );
      for (const [at, slot] of column.entries()) {
        assert.ok(slot.y0 >= (column[at - 1]?.y1 ?? 0) - 1e-6 && slot.y1 <= HEIGHT + 1e-6);
      }
    }
  }
});

test("shares below the least one are folded away", async () => {
  const { data, flow } = await made();
  assert.deepEqual(Object.keys(texts(data, flow({ least: 0.3 }))).sort(), [
    "0-0 > 1-0",
    "0-1 > 1-0",
    "0-2 > 1-1",
  ]);
});

test("a cluster that fills the height has its children, its parents, and all others as one", async () => {
  const { data, flow } = await made();
  const [right, middle] = [data.node("1-1")!, data.node("0-1")!];
  assert.deepEqual(texts(data, flow({ focus: right })), { "0-2 > 1-1": 1, "* > 1-1": 0.5 });
  assert.deepEqual(texts(data, flow({ focus: middle })), { "0-1 > 1-0": 1.5, "0-1 > 1-1": 0.5 });
  const above = flow({ focus: middle }).slots.filter(({ level }) => level === 1);
  assert.deepEqual(
    above.map(({ mass }) => mass),
    [1.5, 0.5],
  );
});

test("of many clusters the small ones with one parent are folded, but relatives of the chosen one are not", async () => {
  const { data, flow } = await made(madeTree(4000, 200, 4));
  const whole = flow();
  assert.ok(whole.slots.length < 250 && whole.bands.length < 1600);
  const sum = whole.slots.reduce((all, { nodes }) => all + nodes.length, 0);
  assert.equal(sum, 4204);
  for (const { nodes, level } of whole.slots) {
    // folded clusters have the same parent, or parents that are folded together
    const parents = new Set(
      nodes.map((node) => whole.slots.find((slot) => slot.nodes.includes(data.parent(node)!))),
    );
    assert.ok(level === 2 || parents.size === 1);
  }
  const chosen = data.node("1-77")!;
  const single = new Set(
    flow({ chosen })
      .slots.filter(({ nodes }) => nodes.length === 1)
      .map(({ nodes }) => nodes[0]),
  );
  assert.ok(data.path(chosen).every((node) => node === data.root || single.has(node)));
  assert.equal([...data.children(chosen)].filter((node) => single.has(node)).length, 12);
});

test("the outline of a band is closed, and at least one pixel wide", () => {
  const slot = { level: 0, nodes: [], mass: 1, y0: 0, y1: 1 };
  const band = { from: slot, to: slot, mass: 1, y0: 10, y1: 20, width: 0.2 };
  assert.equal(
    bandPath(band, 0, 10),
    "M0.0,9.5C5.0,9.5 5.0,19.5 10.0,19.5L10.0,20.5C5.0,20.5 5.0,10.5 0.0,10.5Z",
  );
});
