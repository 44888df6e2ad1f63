/** The header: what this is, in numbers; the level that maps show; search; undo; names; light and dark. */
import type { Data, Head } from "../data.ts";
import { button, download, element } from "../dom.ts";
import { count, number, plural } from "../format.ts";
import type { Scheme, Store } from "../state.ts";
import { dialogOf, type Dialog } from "./dialog.ts";
import { mountFinder } from "./finder.ts";
import { helpDialog } from "./help.ts";
import { mountRuler } from "./ruler.ts";

const NEXT_SCHEME: Record<Scheme, Scheme> = { auto: "dark", dark: "light", light: "auto" };

const SCHEMES: Record<Scheme, [sign: string, text: string]> = {
  auto: ["\u25d0", "Light/dark"],
  dark: ["\u25cf", "Dark"],
  light: ["\u25cb", "Light"],
};

export function mountHeader(place: HTMLElement, data: Data, store: Store): void {
  const { head } = data;
  const facts = [
    plural(head.points, "point"),
    `${head.levels.map((level) => count(level.clusters)).join(" \u2192 ")} clusters`,
    plural(head.edges, "edge"),
    plural(head.components, "component"),
  ].join(" \u00b7 ");
  const level = element("div", { class: "level" });
  mountRuler(level, data, store);
  const help = helpDialog();
  const about = aboutDialog(head);
  const undo = button(
    "\u21b6",
    () => {
      store.undo();
    },
    { "aria-label": "Undo", title: "Undo (Ctrl+Z)" },
  );
  const redo = button(
    "\u21b7",
    () => {
      store.redo();
    },
    { "aria-label": "Redo", title: "Redo (Ctrl+Shift+Z)" },
  );
  const names = button(
    "Save names",
    () => {
      download("names.json", store.namesAsJson(), "application/json");
    },
    {
      title: "All names of clusters as JSON, for h.name_clusters in Python",
    },
  );
  const scheme = button("", () => {
    store.set({ scheme: NEXT_SCHEME[store.state.scheme] });
  });
  const find = element("div", { class: "find", role: "search" });
  mountFinder(find, data, store);
  place.append(
    element(
      "div",
      { class: "title" },
      element("h1", {}, head.title),
      element("p", { class: "facts", title: facts }, facts),
    ),
    find,
    level,
    element("div", { class: "tools" }, undo, redo, names, about.open, scheme, help.open),
    about.dialog,
    help.dialog,
  );
  const show = (): void => {
    const { state } = store;
    undo.disabled = !store.canUndo;
    redo.disabled = !store.canRedo;
    const [sign, text] = SCHEMES[state.scheme];
    scheme.textContent = sign;
    scheme.setAttribute("aria-label", text);
    scheme.title = `${text}: follow the system, dark, or light`;
  };
  store.subscribe(show);
  show();
}

function aboutDialog({ limits, notes, levels }: Head): Dialog {
  const each = levels.map(({ clusters, log_likelihood: fit, status }) => {
    const likelihood = fit === null ? "" : `, log-likelihood ${number(fit)}`;
    return `${plural(clusters, "cluster")}${likelihood}: ${status}`;
  });
  return dialogOf(
    "What was done",
    { text: "About" },
    list([...limits, ...notes]),
    element("h2", {}, "Levels, finest first"),
    list(each),
  );
}

function list(texts: readonly string[]): HTMLElement {
  return element("ul", {}, ...texts.map((text) => element("li", {}, text)));
}
