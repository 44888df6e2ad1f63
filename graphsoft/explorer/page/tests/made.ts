/** A small page's members, packed as Python packs them: two levels, five points. */
import { deflateSync } from "node:zlib";
import type { Head, Source } from "../src/data.ts";

type Member = Uint8Array | Uint16Array | Uint32Array | Float32Array | object;

const MEMBERS: Record<string, Member> = {
  cluster_names: { "1-0": "left" },
  names: ["a", "b", "<b>", "d", "e"],
  texts: ["one sea", "two", "three seas", "", "five"],
  features: ["sea", "sun"],
  x: Uint16Array.of(0, 1, 2, 60000, 65535),
  y: Uint16Array.of(0, 5, 9, 60000, 65535),
  "0/mass": Float32Array.of(3, 2, 1),
  "0/size": Uint32Array.of(2, 2, 1),
  "0/color": Uint8Array.of(200, 0, 0, 0, 200, 0, 0, 0, 200),
  "0/circle": Float32Array.of(0, 0, 0.3, 0.6, 0, 0.2, 1, 1, 0.1),
  "0/certainty": Float32Array.of(0.9, 0.8, -1),
  "0/conductance": Float32Array.of(0.1, 0.2, -1),
  "0/parent": Uint8Array.of(0, 0, 1),
  "0/parents_count": Uint8Array.of(1, 2, 1),
  "0/parents_cluster": Uint8Array.of(0, 0, 1, 1),
  "0/parents_chance": Float32Array.of(1, 0.75, 0.25, 1),
  "0/flow_count": Uint8Array.of(1, 2, 1),
  "0/flow_cluster": Uint8Array.of(0, 0, 1, 1),
  "0/flow_share": Float32Array.of(1, 0.75, 0.25, 1),
  "0/share_count": Uint8Array.of(1, 2, 1, 1, 1),
  "0/share_cluster": Uint8Array.of(0, 0, 1, 1, 1, 2),
  "0/share_part": Uint8Array.of(255, 153, 102, 255, 255, 255),
  "0/entropy": Uint8Array.of(0, 255, 0, 0, 0),
  "1/share_count": Uint8Array.of(1, 1, 1, 1, 1),
  "1/share_cluster": Uint8Array.of(0, 0, 0, 0, 1),
  "1/share_part": Uint8Array.of(255, 255, 255, 255, 255),
  "1/entropy": new Uint8Array(5),
  "1/mass": Float32Array.of(4.5, 1.5),
  "1/size": Uint32Array.of(4, 1),
  "1/color": Uint8Array.of(200, 100, 0, 0, 0, 200),
  "1/circle": Float32Array.of(0.2, 0, 0.4, 1, 1, 0.2),
  "1/certainty": Float32Array.of(0.9, 1),
  "1/conductance": Float32Array.of(0.1, 0.1),
};
for (const level of [0, 1]) {
  const clusters = level === 0 ? 3 : 2;
  const none = new Uint8Array(clusters);
  for (const [rows, column, value] of [
    ["near", "cluster", "chance"],
    ["central", "point", ""],
    ["torn", "cluster", "point"],
  ] as const) {
    MEMBERS[`${level}/${rows}_count`] = none;
    MEMBERS[`${level}/${rows}_${column}`] = new Uint8Array(0);
    if (value) MEMBERS[`${level}/${rows}_${value}`] = new Float32Array(0);
  }
  MEMBERS[`${level}/apart_count`] = Uint8Array.from({ length: clusters }, (_, at) => (at < 2 ? 1 : 0));
  MEMBERS[`${level}/apart_feature`] = Uint8Array.of(0, 1);
  MEMBERS[`${level}/apart_score`] = Float32Array.of(2, 3);
}

// a path 0 - 1 - 2 below, and one edge above; each row has all its entries
Object.assign(MEMBERS, {
  "0/graph_count": Uint8Array.of(1, 2, 1),
  "0/graph_cluster": Uint8Array.of(1, 0, 2, 1),
  "0/graph_weight": Float32Array.of(4, 4, 1, 1),
  "1/graph_count": Uint8Array.of(1, 1),
  "1/graph_cluster": Uint8Array.of(1, 0),
  "1/graph_weight": Float32Array.of(2, 2),
});

const KINDS = new Map<unknown, string>([
  [Uint8Array, "u1"],
  [Uint16Array, "u2"],
  [Uint32Array, "u4"],
  [Float32Array, "f4"],
]);

function packed(member: Member): { bytes: Uint8Array; facts: { kind: string; length?: number } } {
  if (ArrayBuffer.isView(member)) {
    const array = member as Uint8Array;
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    return { bytes, facts: { kind: KINDS.get(member.constructor)!, length: array.length } };
  }
  return { bytes: new TextEncoder().encode(JSON.stringify(member)), facts: { kind: "json" } };
}

/** A source that counts how often each member was read. */
export function madeSource(change: Partial<Head> = {}): { source: Source; reads: Map<string, number> } {
  const reads = new Map<string, number>();
  const source = sourceOf(MEMBERS, [3, 2], change);
  return {
    source: (name) => {
      reads.set(name, (reads.get(name) ?? 0) + 1);
      return source(name);
    },
    reads,
  };
}

function sourceOf(all: Record<string, Member>, sizes: number[], change: Partial<Head>): Source {
  const head: Head = {
    format: 1,
    title: "made",
    points: 5,
    shown: 5,
    edges: 4,
    components: 1,
    notes: [],
    limits: [],
    features: "score",
    rounds: null,
    box: [0, 0, 1, 1],
    given: true,
    images: null,
    levels: sizes.map((clusters) => ({ clusters, log_likelihood: -1, status: "made", entropy: 1 })),
    members: Object.fromEntries(Object.entries(all).map(([name, member]) => [name, packed(member).facts])),
    ...change,
  };
  return (name) => {
    if (name === "head") return JSON.stringify(head);
    const member = all[name];
    return member ? deflateSync(packed(member).bytes).toString("base64") : null;
  };
}

/** A tree of many clusters without points: 0.8 of each is in its parent, and 0.2 in the next cluster. */
export function madeTree(...sizes: number[]): Source {
  const members: Record<string, Member> = { cluster_names: {} };
  let mass = Float32Array.from({ length: sizes[0]! }, (_, index) => 1 + (index % 5));
  for (const [level, count] of sizes.entries()) {
    const rows = new Uint8Array(count);
    Object.assign(members, {
      [`${level}/mass`]: mass,
      [`${level}/size`]: new Uint32Array(count).fill(1),
      [`${level}/color`]: new Uint8Array(3 * count),
      [`${level}/graph_count`]: rows,
      [`${level}/graph_cluster`]: new Uint8Array(0),
      [`${level}/graph_weight`]: new Float32Array(0),
      [`${level}/near_count`]: rows,
      [`${level}/near_cluster`]: new Uint8Array(0),
      [`${level}/near_chance`]: new Float32Array(0),
    });
    const above = sizes[level + 1];
    if (above === undefined) continue;
    const parent = Uint32Array.from({ length: count }, (_, index) => Math.floor((index * above) / count));
    const next = new Float32Array(above);
    for (const [index, first] of parent.entries()) {
      next[first]! += 0.8 * mass[index]!;
      next[(first + 1) % above]! += 0.2 * mass[index]!;
    }
    Object.assign(members, {
      [`${level}/parent`]: parent,
      [`${level}/flow_count`]: rows.slice().fill(2),
      [`${level}/flow_cluster`]: Uint32Array.from(
        [...parent].flatMap((first) => [first, (first + 1) % above]),
      ),
      [`${level}/flow_share`]: Float32Array.from([...parent].flatMap(() => [0.8, 0.2])),
    });
    mass = next;
  }
  return sourceOf(members, sizes, {});
}
