import assert from "node:assert/strict";
import { test } from "node:test";
import { fragmentOf, stateOf } from "../src/address.ts";
import { Data, type Head } from "../src/data.ts";
import { reading } from "../src/reading.ts";
import { search } from "../src/search.ts";
import { Store, type Key } from "../src/state.ts";
import { madeSource } from "./made.ts";

async function made(): Promise<{ data: Data; store: Store }> {
  const data = await Data.open(madeSource().source);
  return { data, store: new Store(data, "points") };
}

test("listeners hear what changed, once, until they stop", async () => {
  const { store } = await made();
  const heard: Key[][] = [];
  const stop = store.subscribe((_, changed) => heard.push([...changed]));
  store.set({ level: 0 });
  store.set({ level: 0 });
  stop();
  store.set({ level: 1 });
  assert.deepEqual(heard, [["level"]]);
});

test("choosing a cluster brings its level, and zooms out as far as needed", async () => {
  const { store, data } = await made();
  store.set({ zoom: 4 });
  store.choose(0);
  assert.deepEqual([store.state.chosen, store.state.level, store.state.zoom], [0, 0, data.root]);
  store.set({ zoom: 3 });
  store.choose(1);
  assert.equal(store.state.zoom, 3);
  store.choose(data.root);
  assert.equal(store.state.chosen, null);
});

test("a choice can keep its level, and zooming into what has nothing inside leads out", async () => {
  const { store, data } = await made();
  store.choose(0, null, 1);
  assert.deepEqual([store.state.chosen, store.state.level], [0, 1]);
  store.zoomTo(3);
  assert.equal(store.state.zoom, 3);
  store.zoomTo(2);
  assert.equal(data.id(store.state.zoom), "1-1");
});

test("clusters with children open, and close with all that is open inside", async () => {
  const { store } = await made();
  store.toggle(0);
  assert.equal(store.state.open.size, 0);
  store.set({ open: new Set([0]) });
  store.toggle(3);
  assert.deepEqual([...store.state.open], [0, 3]);
  store.toggle(3);
  assert.equal(store.state.open.size, 0);
  store.undo();
  assert.deepEqual([...store.state.open], [0, 3]);
});

test("undo and redo take steps back and forth, and jump over what is no step", async () => {
  const { store } = await made();
  store.choose(3);
  store.set({ search: "x" });
  store.set({ hovered: 1 }, { step: false });
  store.rename(3, "east");
  store.undo();
  assert.equal(store.nameOf(3), "left");
  assert.equal(store.state.search, "x");
  store.undo();
  assert.equal(store.state.chosen, null);
  assert.equal(store.canUndo, false);
  store.undo();
  store.redo();
  store.redo();
  assert.equal(store.nameOf(3), "east");
  assert.equal(store.canRedo, false);
  store.undo();
  store.choose(0);
  assert.equal(store.canRedo, false);
});

test("what is selected is a step too, and a drag can be one step", async () => {
  const { store } = await made();
  store.set({ selected: Uint32Array.of(1, 2) });
  store.set({ level: 0 });
  store.set({ level: 1 }, { step: false });
  store.set({ coloring: "labels" });
  store.undo();
  assert.equal(store.state.coloring, "clusters");
  store.undo();
  assert.equal(store.state.level, 1);
  assert.deepEqual([...store.state.selected!], [1, 2]);
  store.undo();
  assert.equal(store.state.selected, null);
});

test("names are those of Python, with what was renamed or taken away", async () => {
  const { store } = await made();
  assert.equal(store.namesAsJson(), '{\n "1-0": "left"\n}');
  store.rename(4, "  right ");
  store.rename(3, "");
  assert.deepEqual(JSON.parse(store.namesAsJson()), { "1-0": null, "1-1": "right" });
  assert.equal(store.titleOf(3), "1-0");
  store.rename(3, "left");
  assert.ok(!store.state.names.has("1-0"));
});

test("the fragment leads back to the state", async () => {
  const { store, data } = await made();
  const first = store.state;
  assert.equal(fragmentOf(first, data, first), "");
  store.choose(1, 2);
  store.set({ zoom: 3, shape: "treemap", search: "a&b=#\u2028", level: 1 });
  store.toggle(3);
  store.toggle(4);
  store.set({ least: 0.07 });
  store.rename(0, '</script>"');
  const fragment = fragmentOf(store.state, data, first);
  const found = stateOf(fragment, data, first, ["points"]);
  assert.equal(fragmentOf(found, data, first), fragment);
  assert.equal(found.search, "a&b=#\u2028");
  assert.deepEqual([[...found.open], found.least], [[3, 4], 0.07]);
  assert.deepEqual([...found.names], [["0-0", '</script>"']]);
  assert.equal(stateOf("cluster=0-1", data, first, []).level, 0);
});

test("what a fragment says wrongly is as at first", async () => {
  const { store, data } = await made();
  const first = store.state;
  const wrong =
    "cluster=9-9&point=99&level=7&zoom=x&shape=cube&color=labels&view=none&open=9-9,root,&least=900&names={";
  assert.equal(fragmentOf(stateOf(wrong, data, first, ["points"]), data, first), "");
  const names = `names=${encodeURIComponent('{"__proto__": "x", "9-9": "y", "0-0": 3, "root": "z", "00-1": " good "}')}`;
  assert.deepEqual([...stateOf(names, data, first, []).names], [["0-1", "good"]]);
});

test("of a sample, points without names are called by their row in the data, also by search", async () => {
  const { source } = madeSource();
  const head = JSON.parse(source("head")!) as Head;
  delete head.members.names;
  head.members.row = head.members.y!;
  const data = await Data.open((name) =>
    name === "head" ? JSON.stringify(head) : source(name === "row" ? "y" : name),
  );
  assert.equal((await reading(1, data)).title, "point 5");
  const [found] = await search("two", data, new Store(data, "points"));
  assert.deepEqual(found, { kind: "point", point: 1, title: "point 5", why: "two" });
});

test("a point whose name is its text shows it once, and is found once", async () => {
  const { source } = madeSource();
  const data = await Data.open((name) => source(name === "texts" ? "names" : name));
  assert.deepEqual(await reading(1, data), { title: "b", text: "" });
  const found = await search("b", data, new Store(data, "points"));
  assert.deepEqual(
    found.map((each) => each.kind === "point" && [each.title, each.why]),
    [
      ["b", ""],
      ["<b>", ""],
    ],
  );
  const other = await Data.open(source);
  assert.deepEqual(await reading(1, other), { title: "b", text: "two" });
});

test("search finds names, ids, words and texts", async () => {
  const { store, data } = await made();
  const found = await search("SEA", data, store);
  assert.deepEqual(
    found.map((each) => (each.kind === "cluster" ? data.id(each.node) : each.title)),
    ["1-0", "0-0", "a", "<b>"],
  );
  assert.equal((await search("left", data, store))[0]?.kind, "cluster");
  assert.equal((await search("0-2", data, store)).length, 1);
  assert.deepEqual(await search("  ", data, store), []);
});
