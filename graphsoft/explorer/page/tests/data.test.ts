import assert from "node:assert/strict";
import { test } from "node:test";
import { Data, entries } from "../src/data.ts";
import { madeSource } from "./made.ts";

test("nodes are numbered level by level, and ids lead back to them", async () => {
  const data = await Data.open(madeSource().source);
  assert.equal(data.root, 5);
  for (let node = 0; node <= data.root; node++) assert.equal(data.node(data.id(node)), node);
  assert.equal(data.id(3), "1-0");
  for (const id of ["", "1-2", "2-0", "-1-0", "0-0 ", "toString", "0-1e1"]) assert.equal(data.node(id), null);
});

test("the tree links every cluster with its likeliest parent", async () => {
  const data = await Data.open(madeSource().source);
  assert.deepEqual([...data.children(3)], [0, 1]);
  assert.deepEqual([...data.children(data.root)], [3, 4]);
  assert.deepEqual([...data.children(0)], []);
  assert.deepEqual(data.path(2), [5, 4, 2]);
  assert.equal(data.parent(data.root), null);
  assert.equal(data.mass(data.root), 6);
  assert.equal(data.size(1), 2);
  assert.deepEqual(data.color(4), [0, 0, 200]);
});

test("only what the tree needs is read at first, and nothing twice", async () => {
  const { source, reads } = madeSource();
  const data = await Data.open(source);
  assert.ok(!reads.has("x") && !reads.has("texts") && !reads.has("0/share_part"));
  await Promise.all([data.points(), data.points(), data.links(0), data.links(0), data.texts("names")]);
  await data.points();
  assert.ok([...reads.values()].every((count) => count === 1));
});

test("rows hold the soft parents of each cluster", async () => {
  const data = await Data.open(madeSource().source);
  const { parents } = await data.links(0);
  assert.deepEqual(
    [...entries(parents!, 1)],
    [
      [0, 0.75],
      [1, 0.25],
    ],
  );
  assert.equal((await data.links(1)).parents, null);
});

test("texts come back as they are, and are null where there are none", async () => {
  const data = await Data.open(madeSource().source);
  assert.equal((await data.texts("names"))![2], "<b>");
  assert.equal(await data.texts("labels"), null);
});

test("a page of another format, and a damaged member, are refused", async () => {
  await assert.rejects(Data.open(madeSource({ format: 2 }).source), /cannot|no content/);
  await assert.rejects(
    Data.open(() => null),
    /no content/,
  );
  const { source } = madeSource();
  const head = JSON.parse(source("head")!) as { members: Record<string, { kind: string; length?: number }> };
  head.members["0/mass"]!.length = 4;
  await assert.rejects(
    Data.open((name) => (name === "head" ? JSON.stringify(head) : source(name))),
    /numbers/,
  );
});
