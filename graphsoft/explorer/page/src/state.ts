/**
 * The one store: what is chosen, on which level, and what was renamed. Views read it and write to it, and never
 * talk to each other. It knows nothing of the page it is in; address.ts keeps the address in step with it.
 */
import type { Data } from "./data.ts";

export type Scheme = "auto" | "light" | "dark";
export type Shape = "icicle" | "treemap";
export type Coloring = "clusters" | "labels";

export interface State {
  /** The chosen cluster, as a node; null if none is. */
  chosen: number | null;
  /** The chosen point; null if none is. */
  point: number | null;
  /** The level that maps show. */
  level: number;
  /** The node that fills the icicle and the flow. */
  zoom: number;
  /** Clusters that are open in the map of clusters: their children are in their place. */
  open: ReadonlySet<number>;
  /** The least share of a child, from 0 to 1, that the flow shows. */
  least: number;
  shape: Shape;
  /** What the colors of points on the map mean. */
  coloring: Coloring;
  /** Points that were selected, in rising order; null if none are. */
  selected: Uint32Array | null;
  /** The id of the view on the stage. */
  stage: string;
  search: string;
  /** Names that were given here, by id; an empty one takes a name of Python's away. */
  names: ReadonlyMap<string, string>;
  /** The cluster under the pointer, which all views emphasize. */
  hovered: number | null;
  scheme: Scheme;
}

export type Key = keyof State;
export type Listener = (state: Readonly<State>, changed: ReadonlySet<Key>) => void;

/** Whether any of these fields changed. */
export function changesAny(changed: ReadonlySet<Key>, ...keys: readonly Key[]): boolean {
  return keys.some((key) => changed.has(key));
}

/** What undo takes back. Other changes are no steps. */
const STEPS: readonly Key[] = [
  "chosen",
  "point",
  "level",
  "zoom",
  "open",
  "shape",
  "coloring",
  "selected",
  "stage",
  "names",
];
const MAX_STEPS = 200;
const LEAST = 0.01;

export class Store {
  private current: State;
  private readonly data: Data;
  private readonly listeners = new Set<Listener>();
  private past: State[] = [];
  private future: State[] = [];

  constructor(data: Data, stage: string) {
    this.data = data;
    this.current = {
      chosen: null,
      point: null,
      level: data.levels.length - 1,
      zoom: data.root,
      open: new Set(),
      least: LEAST,
      shape: "icicle",
      coloring: "clusters",
      selected: null,
      stage,
      search: "",
      names: new Map(),
      hovered: null,
      scheme: "auto",
    };
  }

  get state(): Readonly<State> {
    return this.current;
  }

  /** Call the listener after every change, until the returned function is called. */
  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Change some fields. `step: false` is for changes that undo is to jump over. */
  set(change: Partial<State>, { step = true } = {}): void {
    const before = this.current;
    const changed = differences(before, { ...before, ...change });
    if (!changed.size) return;
    if (step && changesAny(changed, ...STEPS)) {
      this.past.push(before);
      if (this.past.length > MAX_STEPS) this.past.shift();
      this.future = [];
    }
    this.current = { ...before, ...change };
    this.tell(changed);
  }

  /**
   * Choose a cluster, or nothing, and perhaps one of its points. The icicle shows it, and the level follows
   * unless another one is given.
   */
  choose(node: number | null, point: number | null = null, level: number | null = null): void {
    if (node === null || node === this.data.root) {
      this.set({ chosen: null, point });
      return;
    }
    const { zoom } = this.current;
    const visible = this.data.path(node).includes(zoom) ? zoom : this.commonAncestor(node, zoom);
    this.set({ chosen: node, point, level: level ?? this.data.levelOf(node), zoom: visible });
  }

  /** Zoom into a cluster, or out of one that has nothing inside. */
  zoomTo(node: number): void {
    const { data } = this;
    this.set({ zoom: data.children(node).length ? node : (data.parent(node) ?? data.root) });
  }

  /** Open a cluster in the map of clusters, or close it again with all that is inside. */
  toggle(node: number): void {
    const { data } = this;
    if (!data.children(node).length) return;
    const open = new Set(this.current.open);
    if (!open.delete(node)) open.add(node);
    else for (const inner of open) if (data.path(inner).includes(node)) open.delete(inner);
    this.set({ open });
  }

  rename(node: number, name: string): void {
    const names = new Map(this.current.names);
    const id = this.data.id(node);
    const text = name.trim();
    if (text === (this.data.names.get(id) ?? "")) names.delete(id);
    else names.set(id, text);
    this.set({ names });
  }

  /** What a cluster is called: as it was renamed, as Python named it, or nothing. */
  nameOf(node: number): string {
    const id = this.data.id(node);
    return this.current.names.get(id) ?? this.data.names.get(id) ?? "";
  }

  /** What a cluster is called: its name, or its id. */
  titleOf(node: number): string {
    return node === this.data.root ? "all points" : this.nameOf(node) || this.data.id(node);
  }

  /** All names as JSON that h.name_clusters reads, in the order of the clusters; null takes a name away. */
  namesAsJson(): string {
    const names: Record<string, string | null> = {};
    for (let node = 0; node < this.data.root; node++) {
      const id = this.data.id(node);
      const name = this.nameOf(node);
      if (name || this.data.names.has(id)) names[id] = name || null;
    }
    return JSON.stringify(names, null, 1);
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  undo(): void {
    this.travel(this.past, this.future);
  }

  redo(): void {
    this.travel(this.future, this.past);
  }

  private travel(from: State[], to: State[]): void {
    const target = from.pop();
    if (!target) return;
    const before = this.current;
    to.push(before);
    const next = { ...before };
    for (const key of STEPS) Object.assign(next, { [key]: target[key] });
    this.current = next;
    // listeners also learn that there is more or less to undo
    this.tell(differences(before, next));
  }

  private tell(changed: ReadonlySet<Key>): void {
    for (const listener of [...this.listeners]) listener(this.current, changed);
  }

  private commonAncestor(a: number, b: number): number {
    const above = new Set(this.data.path(a));
    let node = b;
    while (!above.has(node)) node = this.data.parent(node) ?? this.data.root;
    return node;
  }
}

function differences(before: State, after: State): Set<Key> {
  const keys = Object.keys(before) as Key[];
  return new Set(keys.filter((key) => before[key] !== after[key]));
}
