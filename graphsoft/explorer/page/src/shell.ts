/** The page around the views: its header, the tree, the stage with its tabs, and the panel. */
import { followAddress } from "./address.ts";
import type { Data } from "./data.ts";
import { button, element, isTyping } from "./dom.ts";
import { plural } from "./format.ts";
import { followPrinting } from "./printing.ts";
import { mountHeader } from "./views/header.ts";
import { mountIcicle } from "./views/icicle.ts";
import { STAGE } from "./views/index.ts";
import { mountPanel } from "./views/panel.ts";
import { mountSelection } from "./views/selection.ts";
import { Store, type Scheme } from "./state.ts";
import type { Sized, View, ViewKind } from "./views/view.ts";

/** On a phone one of these is seen at a time. */
const PANES = [
  ["tree", "Tree"],
  ["stage", "Maps"],
  ["panel", "Cluster"],
] as const;

export function showPage(body: HTMLElement, data: Data): void {
  const kinds = STAGE.filter((kind) => kind.available(data));
  const store = new Store(data, kinds[0]?.id ?? "");
  followAddress(
    store,
    data,
    kinds.map((kind) => kind.id),
  );

  const header = element("header", {});
  const tree = element("section", { class: "tree", "aria-label": "Tree" });
  const stage = element("section", { class: "stage", "aria-label": "Maps" });
  const panel = element("section", { class: "panel", "aria-label": "Chosen cluster" });
  const main = element("main", { "data-pane": "tree" }, tree, stage, panel);
  const panes = element("nav", { class: "panes", "aria-label": "Parts of the page" });
  const said = element("div", { class: "said", role: "status" });
  body.append(header, main, panes, said);

  mountHeader(header, data, store);
  const views = [mountIcicle(tree, data, store), mountStage(stage, kinds, data, store)];
  mountPanel(panel, data, store);

  const buttons = PANES.map(([pane, title]) =>
    button(title, () => {
      show(pane);
    }),
  );
  panes.append(...buttons);
  const show = (pane: string): void => {
    main.dataset.pane = pane;
    for (const [at, [id]] of PANES.entries()) buttons[at]!.setAttribute("aria-pressed", String(id === pane));
    for (const view of views) view.resize();
  };
  show("tree");

  const nameChosen = (): void => {
    const { chosen } = store.state;
    buttons.at(-1)!.textContent = chosen === null ? "Cluster" : `Cluster ${store.titleOf(chosen)}`;
  };
  nameChosen();

  new ResizeObserver(() => {
    for (const view of views) view.resize();
  }).observe(main);
  followScheme(store);
  store.subscribe((state, changed) => {
    if (changed.has("chosen") || changed.has("names")) nameChosen();
    if (changed.has("chosen") && state.chosen !== null)
      said.textContent = `${store.titleOf(state.chosen)} is chosen`;
    else if (changed.has("selected") && state.selected)
      said.textContent = `${plural(state.selected.length, "point")} selected`;
    else if (changed.has("level"))
      said.textContent = `Level of ${plural(data.levels[state.level]!.clusters, "cluster")}`;
  });
  followKeys(store, data, header);
  followPrinting(views);
}

/** Keys that mean the same everywhere, but where a text is written. */
function followKeys(store: Store, data: Data, header: HTMLElement): void {
  const keys: Record<string, () => void> = {
    "?": () => header.querySelector<HTMLElement>("button[aria-label=Help]")?.click(),
    "/": () => header.querySelector<HTMLElement>("#search")?.focus(),
    n: () => document.querySelector<HTMLElement>("#rename")?.focus(),
    "[": () => {
      store.set({ level: Math.max(store.state.level - 1, 0) });
    },
    "]": () => {
      store.set({ level: Math.min(store.state.level + 1, data.levels.length - 1) });
    },
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && (event.target as Element).id === "rename")
      document.querySelector<HTMLElement>(".cells")?.focus();
    if (isTyping(event) || event.altKey || document.querySelector("dialog[open]")) return;
    const command = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (command && (key === "y" || (key === "z" && event.shiftKey))) store.redo();
    else if (command && key === "z") store.undo();
    else if (!command && keys[event.key]) keys[event.key]!();
    else return;
    event.preventDefault();
  });
}

/** A tab for each kind of view; only the view of the chosen tab is there. */
function mountStage(place: HTMLElement, kinds: readonly ViewKind[], data: Data, store: Store): Sized {
  const area = element("div", { class: "view", role: "tabpanel", id: "stage-view" });
  const tabs = kinds.map((kind) =>
    button(
      kind.title,
      () => {
        store.set({ stage: kind.id });
      },
      { role: "tab", id: `tab-${kind.id}`, "aria-controls": "stage-view" },
    ),
  );
  const list = element("div", { class: "bar", role: "tablist", "aria-label": "Maps" }, ...tabs);
  const selected = element("div", { class: "selection", role: "group", "aria-label": "Selected points" });
  place.append(list, area, selected);
  mountSelection(selected, data, store);
  let view: View | null = null;
  const show = (): void => {
    view?.destroy();
    const at = Math.max(
      kinds.findIndex((kind) => kind.id === store.state.stage),
      0,
    );
    for (const [number, tab] of tabs.entries()) {
      tab.setAttribute("aria-selected", String(number === at));
      tab.tabIndex = number === at ? 0 : -1;
    }
    area.setAttribute("aria-labelledby", tabs[at]?.id ?? "");
    view = kinds[at]?.mount(area, data, store) ?? null;
  };
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at =
      (kinds.findIndex((kind) => kind.id === store.state.stage) + step + kinds.length) % kinds.length;
    store.set({ stage: kinds[at]!.id });
    tabs[at]!.focus();
  });
  store.subscribe((_, changed) => {
    if (changed.has("stage")) show();
  });
  show();
  return { resize: () => view?.resize() };
}

/** The style follows the system, unless light or dark is chosen here. */
function followScheme(store: Store): void {
  const apply = (scheme: Scheme): void => {
    document.documentElement.dataset.scheme = scheme;
  };
  apply(store.state.scheme);
  store.subscribe((state, changed) => {
    if (changed.has("scheme")) apply(state.scheme);
  });
}
