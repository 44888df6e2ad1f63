/** The search field with its list of what was found. */
import { search, type Found } from "../search.ts";
import type { Data } from "../data.ts";
import { element } from "../dom.ts";
import type { Store } from "../state.ts";
import { swatch } from "./buttons.ts";

const PAUSE = 150; // milliseconds without typing, before it is searched

export function mountFinder(place: HTMLElement, data: Data, store: Store): void {
  const field = element("input", {
    type: "search",
    id: "search",
    role: "combobox",
    placeholder: "Search clusters, points, texts",
    "aria-label": "Search clusters, points and texts",
    "aria-expanded": "false",
    "aria-controls": "found",
    autocomplete: "off",
    maxlength: 200,
  });
  const list = element("div", { id: "found", role: "listbox", "aria-label": "Found", hidden: true });
  place.replaceChildren(field, list);
  let found: Found[] = [];
  let active = -1;
  let timer = 0;
  let request = 0;

  const close = (): void => {
    request++;
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };

  const look = async (): Promise<void> => {
    const mine = ++request;
    const text = field.value;
    store.set({ search: text });
    const result = await search(text, data, store);
    if (mine !== request) return;
    found = result;
    active = -1;
    list.replaceChildren(...found.map(option));
    if (!found.length)
      list.append(
        element(
          "div",
          { role: "option", "aria-disabled": "true", "aria-selected": "false" },
          "Nothing found",
        ),
      );
    list.hidden = !text.trim();
    field.setAttribute("aria-expanded", String(!list.hidden));
  };

  const option = (each: Found, at: number): HTMLElement => {
    const title = each.kind === "cluster" ? store.titleOf(each.node) : each.title;
    const made = element(
      "div",
      { role: "option", id: `found-${at}`, "aria-selected": "false" },
      swatch(each.kind === "cluster" ? data.color(each.node) : null),
      element("bdi", {}, title),
      each.why ? element("small", { dir: "auto" }, each.why) : null,
    );
    // before the field loses the focus, which closes the list
    made.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      void take(each);
    });
    return made;
  };

  const take = async (each: Found): Promise<void> => {
    close();
    if (each.kind === "cluster") {
      store.choose(each.node);
      return;
    }
    const { level } = store.state;
    const shares = await data.shares(level);
    store.choose(data.nodeAt(level, shares.column[shares.start[each.point]!]!), each.point);
  };

  const mark = (at: number): void => {
    active = at;
    for (const [number, each] of [...list.children].entries())
      each.setAttribute("aria-selected", String(number === at));
    field.setAttribute("aria-activedescendant", `found-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  };

  field.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => void look(), PAUSE);
  });
  field.addEventListener("focus", () => {
    if (field.value) void look();
  });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && found.length && !list.hidden) mark((active + step + found.length) % found.length);
    else if (event.key === "Enter" && !list.hidden && found.length) void take(found[Math.max(active, 0)]!);
    else if (event.key === "Escape" && !list.hidden) close();
    else return;
    event.preventDefault();
  });
  const show = (): void => {
    if (field.value !== store.state.search) field.value = store.state.search;
  };
  store.subscribe((_, changed) => {
    if (changed.has("search")) show();
  });
  show();
}
