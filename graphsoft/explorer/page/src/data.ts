/**
 * What a page holds, with types. The contract is that of graphsoft/explorer/content.py, which lists all members
 * with their shapes at its top; tests/explorer/test_contract.py compares both.
 *
 * Clusters of all levels are nodes with one numbering: the finest level first, by index within a level, and the
 * root of all last. A node's id is "level-index", or "root". Points of the page are numbered from 0.
 *
 * `Data.open` decodes only what the tree needs. All else is decoded when it is first asked for, and kept.
 */
import { arrayOf, bytesOf, inflated, isArrayKind, type Numbers } from "./decode.ts";
import { colorAt, type Color } from "./format.ts";

export interface Head {
  format: number;
  title: string;
  points: number;
  shown: number;
  edges: number;
  components: number;
  notes: string[];
  limits: string[];
  features: string | null;
  /** How often it was found again for the stability of clusters; null if it was not. */
  rounds: number | null;
  box: [number, number, number, number];
  given: boolean;
  images: ImagesHead | null;
  levels: LevelHead[];
  members: Record<string, { kind: string; length?: number }>;
}

export interface LevelHead {
  clusters: number;
  log_likelihood: number | null;
  status: string;
  entropy: number;
}

export interface Sheets {
  form: "sheets";
  width: number;
  height: number;
  columns: number;
  rows: number;
  sheets: number;
}

export type ImagesHead = { form: "files" } | Sheets;

/** What the tree needs of a level. `first` is the node number of its cluster 0. */
export interface Level extends LevelHead {
  first: number;
  mass: Float32Array;
  size: Uint32Array;
  color: Uint8Array;
  /** The likeliest parent of each cluster, an index in the level above; null on the top level. */
  parent: Numbers | null;
}

/** Lists of different lengths: entries `start[i]` to `start[i + 1]` are of row i. */
export interface Rows {
  start: Uint32Array;
  column: Numbers;
  value: Numbers;
}

/** What a level's clusters have to do with others. Columns are indices in a level. */
export interface Links {
  /** Rows of clusters: all parents with their probabilities; null on the top level. */
  parents: Rows | null;
  /** Rows of clusters: the clusters above that their points are in, with the parts; null on the top level. */
  flow: Rows | null;
  /** Rows of clusters: the largest entries of the cluster graph. */
  graph: Rows;
  /** Rows of clusters: the chances of one step along an edge of the points' graph. */
  near: Rows;
}

export interface Details {
  /** -1 where no point has the cluster as its likeliest. */
  certainty: Float32Array;
  /** -1 where not defined. */
  conductance: Float32Array;
  /** How surely clusters are found again, -1 where not defined; null if it was not computed. */
  stability: Float32Array | null;
  /** In how many rounds each cluster was lost. */
  lost: Numbers | null;
  /** Rows of clusters: features by number and scores; null without features. */
  apart: Rows | null;
  /** Rows of clusters: exemplars, as points; no values. */
  central: Rows;
  /** Rows of clusters: other clusters, and as values the points most torn between the two. */
  torn: Rows;
  /** Rows of clusters: labels by number, and in how many of all points they come; null without labels. */
  classes: Rows | null;
}

export interface Points {
  count: number;
  /** 0 to 65535 across the box of the head. */
  x: Numbers;
  y: Numbers;
  /** Row numbers of the points in the caller's data; null if all are shown. */
  row: Numbers | null;
  /** Numbers of the labels; null without. */
  label: Numbers | null;
}

/** What a page with labels knows of them. */
export interface Labels {
  texts: string[];
  /** Red, green and blue of each. */
  color: Uint8Array;
}

/** A level's memberships of all points in the page: clusters, and memberships times 255. */
export interface Shares extends Rows {
  entropy: Uint8Array;
}

export type TextsName = "names" | "texts" | "features" | "labels";

/** Where members are read from: the page, or in tests anything else. */
export type Source = (name: string) => string | null;

export const SHARE = 255;
export const FAR = 65535;

export class Data {
  readonly head: Head;
  readonly levels: Level[] = [];
  /** Names of clusters that Python gave, by id. */
  readonly names = new Map<string, string>();
  /** The node above all clusters; also how many clusters there are. */
  readonly root: number;
  private readonly source: Source;
  private readonly kept = new Map<string, Promise<unknown>>();
  private childStart = new Uint32Array(0);
  private childNodes = new Uint32Array(0);
  private parents = new Int32Array(0);

  private constructor(head: Head, source: Source) {
    this.head = head;
    this.source = source;
    this.root = head.levels.reduce((sum, level) => sum + level.clusters, 0);
  }

  /** Read the head, and decode what the tree needs. */
  static async open(source: Source): Promise<Data> {
    const head = JSON.parse(source("head") ?? "null") as Head | null;
    if (head?.format !== 1) throw new Error("this page has no content that its code can read");
    const data = new Data(head, source);
    let first = 0;
    const levels = head.levels.map(async (level, at): Promise<Level> => {
      const top = at === head.levels.length - 1;
      const start = first;
      first += level.clusters;
      const [mass, size, color, parent] = await Promise.all([
        data.array(`${at}/mass`),
        data.array(`${at}/size`),
        data.array(`${at}/color`),
        top ? null : data.array(`${at}/parent`),
      ]);
      return {
        ...level,
        first: start,
        mass: mass as Float32Array,
        size: size as Uint32Array,
        color: color as Uint8Array,
        parent,
      };
    });
    data.levels.push(...(await Promise.all(levels)));
    const names = (await data.json("cluster_names")) as Record<string, string>;
    for (const [id, name] of Object.entries(names)) data.names.set(id, name);
    data.linkTree();
    return data;
  }

  private linkTree(): void {
    const parents = new Int32Array(this.root + 1).fill(this.root);
    parents[this.root] = -1;
    for (const [at, level] of this.levels.entries()) {
      const above = this.levels[at + 1];
      if (!above || !level.parent) continue;
      for (let index = 0; index < level.clusters; index++) {
        parents[level.first + index] = above.first + level.parent[index]!;
      }
    }
    const start = new Uint32Array(this.root + 2);
    for (let node = 0; node < this.root; node++) start[parents[node]! + 1]!++;
    for (let node = 0; node <= this.root; node++) start[node + 1]! += start[node]!;
    const next = start.slice();
    const children = new Uint32Array(this.root);
    for (let node = 0; node < this.root; node++) children[next[parents[node]!]!++] = node;
    this.parents = parents;
    this.childStart = start;
    this.childNodes = children;
  }

  has(member: string): boolean {
    return member in this.head.members;
  }

  levelOf(node: number): number {
    let level = 0;
    while (level < this.levels.length && node >= this.levels[level]!.first + this.levels[level]!.clusters)
      level++;
    return level;
  }

  indexOf(node: number): number {
    return node === this.root ? 0 : node - this.levels[this.levelOf(node)]!.first;
  }

  nodeAt(level: number, index: number): number {
    return this.levels[level]!.first + index;
  }

  id(node: number): string {
    return node === this.root ? "root" : `${this.levelOf(node)}-${this.indexOf(node)}`;
  }

  /** The node with this id, or null. */
  node(id: string): number | null {
    if (id === "root") return this.root;
    const match = /^(\d{1,9})-(\d{1,9})$/.exec(id);
    const level = match ? this.levels[Number(match[1])] : undefined;
    const index = Number(match?.[2]);
    return level && index < level.clusters ? level.first + index : null;
  }

  /** The likeliest parent, or null at the root. */
  parent(node: number): number | null {
    const parent = this.parents[node]!;
    return parent < 0 ? null : parent;
  }

  children(node: number): Uint32Array {
    return this.childNodes.subarray(this.childStart[node], this.childStart[node + 1]);
  }

  /** The nodes from the root down to this one, both included. */
  path(node: number): number[] {
    const path = [];
    for (let at: number | null = node; at !== null; at = this.parent(at)) path.push(at);
    return path.reverse();
  }

  mass(node: number): number {
    if (node === this.root) return this.levels.at(-1)!.mass.reduce((sum, mass) => sum + mass, 0);
    return this.levels[this.levelOf(node)]!.mass[this.indexOf(node)]!;
  }

  size(node: number): number {
    return node === this.root ? this.head.points : this.levels[this.levelOf(node)]!.size[this.indexOf(node)]!;
  }

  color(node: number): Color {
    if (node === this.root) return [128, 128, 128];
    return colorAt(this.levels[this.levelOf(node)]!.color, this.indexOf(node));
  }

  links(level: number): Promise<Links> {
    return this.once(`links ${level}`, async () => {
      const [parents, flow, graph, near] = await Promise.all([
        this.has(`${level}/parents_count`) ? this.rows(`${level}/parents`, "cluster", "chance") : null,
        this.has(`${level}/flow_count`) ? this.rows(`${level}/flow`, "cluster", "share") : null,
        this.rows(`${level}/graph`, "cluster", "weight"),
        this.rows(`${level}/near`, "cluster", "chance"),
      ]);
      return { parents, flow, graph, near };
    });
  }

  /** Of each cluster x, y and radius, from the lower corner of the box and in parts of its longer side. */
  circles(level: number): Promise<Float32Array> {
    return this.array(`${level}/circle`) as Promise<Float32Array>;
  }

  details(level: number): Promise<Details> {
    return this.once(`details ${level}`, async () => {
      const [certainty, conductance, stability, lost, apart, central, torn, classes] = await Promise.all([
        this.array(`${level}/certainty`) as Promise<Float32Array>,
        this.array(`${level}/conductance`) as Promise<Float32Array>,
        this.has(`${level}/stability`) ? (this.array(`${level}/stability`) as Promise<Float32Array>) : null,
        this.has(`${level}/lost`) ? this.array(`${level}/lost`) : null,
        this.has(`${level}/apart_count`) ? this.rows(`${level}/apart`, "feature", "score") : null,
        this.rows(`${level}/central`, "point"),
        this.rows(`${level}/torn`, "cluster", "point"),
        this.has(`${level}/class_count`) ? this.rows(`${level}/class`, "label", "points") : null,
      ]);
      return { certainty, conductance, stability, lost, apart, central, torn, classes };
    });
  }

  points(): Promise<Points> {
    return this.once("points", async () => {
      const [x, y, row, label] = await Promise.all([
        this.array("x"),
        this.array("y"),
        this.has("row") ? this.array("row") : null,
        this.has("label") ? this.array("label") : null,
      ]);
      return { count: this.head.shown, x, y, row, label };
    });
  }

  shares(level: number): Promise<Shares> {
    return this.once(`shares ${level}`, async () => {
      const [rows, entropy] = await Promise.all([
        this.rows(`${level}/share`, "cluster", "part"),
        this.array(`${level}/entropy`) as Promise<Uint8Array>,
      ]);
      return { ...rows, entropy };
    });
  }

  /** Rows of points: those with the strongest edges to them, the strongest first; no values. */
  close(): Promise<Rows> {
    return this.once("close", () => this.rows("close", "point"));
  }

  /** The labels, with their colors; null without. */
  labels(): Promise<Labels | null> {
    return this.once("label colors", async () => {
      const [texts, color] = await Promise.all([
        this.texts("labels"),
        this.has("label_color") ? (this.array("label_color") as Promise<Uint8Array>) : null,
      ]);
      return texts && color && { texts, color };
    });
  }

  /** Texts of points, features or labels; null if the page has none. */
  texts(name: TextsName): Promise<string[] | null> {
    return this.once(name, async () => (this.has(name) ? ((await this.json(name)) as string[]) : null));
  }

  /** What a point is called: its name, or its row in the data. */
  async titleOfPoint(point: number): Promise<string> {
    const [names, { row }] = await Promise.all([this.texts("names"), this.points()]);
    return names?.[point] ?? `point ${row?.[point] ?? point}`;
  }

  /** The bytes of a member that holds pictures. */
  bytes(name: string): Uint8Array<ArrayBuffer> {
    return bytesOf(this.text(name));
  }

  array(name: string): Promise<Numbers> {
    return this.once(`array ${name}`, async () => {
      const { kind, length } = this.head.members[name] ?? { kind: "missing" };
      if (!isArrayKind(kind) || length === undefined) throw new Error(`${name} is no array`);
      return arrayOf(kind, length, await inflated(bytesOf(this.text(name))));
    });
  }

  private async json(name: string): Promise<unknown> {
    const buffer = await inflated(bytesOf(this.text(name)));
    return JSON.parse(new TextDecoder().decode(buffer)) as unknown;
  }

  private async rows(prefix: string, column: string, value = column): Promise<Rows> {
    const [count, columns, values] = await Promise.all([
      this.array(`${prefix}_count`),
      this.array(`${prefix}_${column}`),
      this.array(`${prefix}_${value}`),
    ]);
    return { start: starts(count), column: columns, value: values };
  }

  private text(name: string): string {
    const text = this.source(name);
    if (text === null) throw new Error(`the page has no member ${name}`);
    return text;
  }

  /** What is made when it is first asked for, and kept. */
  once<T>(key: string, make: () => Promise<T>): Promise<T> {
    let kept = this.kept.get(key) as Promise<T> | undefined;
    if (!kept) {
      kept = make();
      this.kept.set(key, kept);
    }
    return kept;
  }
}

export function starts(counts: Numbers): Uint32Array {
  const start = new Uint32Array(counts.length + 1);
  for (let at = 0; at < counts.length; at++) start[at + 1] = start[at]! + counts[at]!;
  return start;
}

/** The columns and values of one row. */
export function* entries(rows: Rows, row: number): Generator<[column: number, value: number]> {
  for (let at = rows.start[row]!; at < rows.start[row + 1]!; at++) yield [rows.column[at]!, rows.value[at]!];
}
