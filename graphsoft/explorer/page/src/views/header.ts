/** The header: what this is, in numbers; the level that maps show; search; undo; names; light and dark. */
import type { Data } from "../data.ts";
import { button, element } from "../dom.ts";
import { count, number, plural } from "../format.ts";
import type { Scheme, Store } from "../state.ts";
import { mountFinder } from "./finder.ts";
import type { View } from "./view.ts";

const NEXT_SCHEME: Record<Scheme, Scheme> = { auto: "dark", dark: "light", light: "auto" };

export function mountHeader(place: HTMLElement, data: Data, store: Store): View {
  const { head } = data;
  const facts = [
    plural(head.points, "point"),
    `${head.levels.map((level) => count(level.clusters)).join(" \u2192 ")} clusters`,
    plural(head.edges, "edge"),
    plural(head.components, "component"),
  ];
  const level = element("input", {
    type: "range",
    min: 0,
    max: data.levels.length - 1,
    step: 1,
    id: "level",
    "aria-label": "Level",
    list: "levels",
  });
  level.addEventListener("input", () => {
    store.set({ level: Number(level.value) });
  });
  const levelText = element("output", { for: "level" });
  const undo = button(
    "Undo",
    () => {
      store.undo();
    },
    { title: "Undo (Ctrl+Z)" },
  );
  const redo = button(
    "Redo",
    () => {
      store.redo();
    },
    { title: "Redo (Ctrl+Shift+Z)" },
  );
  const names = button(
    "Save names",
    () => {
      download("names.json", store.namesAsJson());
    },
    {
      title: "All names of clusters as JSON, for h.name_clusters in Python",
    },
  );
  const scheme = button("", () => {
    store.set({ scheme: NEXT_SCHEME[store.state.scheme] });
  });
  const find = element("div", { class: "find", role: "search" });
  const finder = mountFinder(find, data, store);
  const about = element("dialog", { "aria-label": "What was done" });
  const open = button("About", () => {
    about.showModal();
  });
  about.append(
    element("h2", {}, "What was done"),
    list([...head.limits, ...head.notes]),
    element("h2", {}, "Levels, finest first"),
    list(
      head.levels.map((each) => {
        const likelihood =
          each.log_likelihood === null ? "" : `, log-likelihood ${number(each.log_likelihood)}`;
        return `${plural(each.clusters, "cluster")}${likelihood}: ${each.status}`;
      }),
    ),
    button("Close", () => {
      about.close();
    }),
  );
  place.append(
    element(
      "div",
      { class: "title" },
      element("h1", {}, head.title),
      element("p", { title: facts.join(" \u00b7 ") }, facts.join(" \u00b7 ")),
    ),
    find,
    element(
      "div",
      { class: "level" },
      element("label", { for: "level" }, "Level"),
      level,
      levelText,
      element("datalist", { id: "levels" }, ...data.levels.map((_, at) => element("option", { value: at }))),
    ),
    element("div", { class: "tools" }, undo, redo, names, open, scheme),
    about,
  );
  const show = (): void => {
    const { state } = store;
    level.value = String(state.level);
    const clusters = plural(data.levels[state.level]!.clusters, "cluster");
    levelText.textContent = clusters;
    level.setAttribute("aria-valuetext", clusters);
    undo.disabled = !store.canUndo;
    redo.disabled = !store.canRedo;
    scheme.textContent = { auto: "Light/dark", dark: "Dark", light: "Light" }[state.scheme];
    scheme.title = "Follow the system, dark, or light";
  };
  const stop = store.subscribe(show);
  show();
  return {
    resize: () => undefined,
    destroy: () => {
      stop();
      finder.destroy();
      place.replaceChildren();
    },
  };
}

function list(texts: readonly string[]): HTMLElement {
  return element("ul", {}, ...texts.map((text) => element("li", {}, text)));
}

function download(name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  element("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}
