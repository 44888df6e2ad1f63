/** The state as the fragment of the address, so that a link and the back button lead to it. */
import type { Data } from "./data.ts";
import { changesAny, type Key, type State, type Store } from "./state.ts";

/** What the fragment holds, in this order. */
type Kept = Pick<
  State,
  | "chosen"
  | "point"
  | "level"
  | "zoom"
  | "open"
  | "least"
  | "shape"
  | "coloring"
  | "stage"
  | "search"
  | "names"
>;

export function fragmentOf(state: Kept, data: Data, first: Kept): string {
  const parts = new URLSearchParams();
  if (state.chosen !== null) parts.set("cluster", data.id(state.chosen));
  if (state.point !== null) parts.set("point", String(state.point));
  if (state.level !== levelAtFirst(state.chosen, data, first)) parts.set("level", String(state.level));
  if (state.zoom !== data.root) parts.set("zoom", data.id(state.zoom));
  if (state.open.size) parts.set("open", [...state.open].map((node) => data.id(node)).join(","));
  if (state.least !== first.least) parts.set("least", String(Math.round(100 * state.least)));
  if (state.shape !== first.shape) parts.set("shape", state.shape);
  if (state.coloring !== first.coloring) parts.set("color", state.coloring);
  if (state.stage !== first.stage) parts.set("view", state.stage);
  if (state.search) parts.set("search", state.search);
  if (state.names.size) parts.set("names", JSON.stringify(Object.fromEntries(state.names)));
  return parts.toString();
}

/** Read a fragment. What it does not say, or says wrongly, is as at first. */
export function stateOf(fragment: string, data: Data, first: Kept, stages: readonly string[]): Kept {
  const parts = new URLSearchParams(fragment);
  const whole = (key: string, below: number): number | null => {
    const text = parts.get(key) ?? "";
    return /^\d{1,9}$/.test(text) && Number(text) < below ? Number(text) : null;
  };
  const chosen = data.node(parts.get("cluster") ?? "");
  const stage = parts.get("view") ?? "";
  const shape = parts.get("shape") ?? "";
  const least = whole("least", 101);
  return {
    chosen: chosen === data.root ? null : chosen,
    point: whole("point", data.head.shown),
    level: whole("level", data.levels.length) ?? levelAtFirst(chosen, data, first),
    zoom: data.node(parts.get("zoom") ?? "") ?? data.root,
    open: new Set(nodesOf(parts.get("open") ?? "", data)),
    least: least === null ? first.least : least / 100,
    shape: shape === "icicle" || shape === "treemap" ? shape : first.shape,
    coloring: parts.get("color") === "labels" && data.has("label") ? "labels" : "clusters",
    stage: stages.includes(stage) ? stage : first.stage,
    search: parts.get("search") ?? "",
    names: namesOf(parts.get("names"), data),
  };
}

/** The level that goes without saying: that of the chosen cluster. */
function levelAtFirst(chosen: number | null, data: Data, first: Kept): number {
  return chosen === null || chosen === data.root ? first.level : data.levelOf(chosen);
}

function nodesOf(text: string, data: Data): number[] {
  const nodes = text.split(",").map((id) => data.node(id));
  return nodes.filter((node) => node !== null && node !== data.root) as number[];
}

function namesOf(text: string | null, data: Data): Map<string, string> {
  const names = new Map<string, string>();
  let read: unknown = null;
  try {
    read = JSON.parse(text ?? "null");
  } catch {
    // a link that was cut: what is left of it counts
  }
  if (typeof read === "object" && read !== null) {
    for (const [id, name] of Object.entries(read)) {
      const node = data.node(id);
      if (node !== null && node !== data.root && typeof name === "string")
        names.set(data.id(node), name.trim());
    }
  }
  return names;
}

/** A change of these fields becomes a step of the back button. */
const PAGES: readonly Key[] = ["chosen", "level", "zoom", "open", "shape", "coloring", "stage"];

/** What the history holds beside addresses that were written here, and not typed. */
const OURS = "explorer";

/** Keep the address and the store in step. */
export function followAddress(store: Store, data: Data, stages: readonly string[]): void {
  const first: Kept = store.state;
  let following = false;
  const read = (step: boolean): void => {
    const found = stateOf(location.hash.slice(1), data, first, stages);
    // names are work: going back to where they were not given yet keeps them
    const names = step && history.state === OURS ? store.state.names : found.names;
    following = true;
    if (fragmentOf({ ...found, names }, data, first) !== fragmentOf(store.state, data, first))
      store.set({ ...found, names }, { step });
    following = false;
    write("replaceState");
  };
  const write = (method: "pushState" | "replaceState"): void => {
    const fragment = fragmentOf(store.state, data, first);
    if (fragment === location.hash.slice(1) && history.state === OURS) return;
    try {
      history[method](OURS, "", fragment || location.hash ? `#${fragment}` : "");
    } catch {
      // in a frame of a notebook there is no address to write to
    }
  };
  read(false);
  window.addEventListener("popstate", () => {
    read(true);
  });
  window.addEventListener("hashchange", () => {
    read(true);
  });
  store.subscribe((_, changed) => {
    if (!following) write(changesAny(changed, ...PAGES) ? "pushState" : "replaceState");
  });
}
