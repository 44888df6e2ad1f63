/** Buttons that stand for clusters and points: they choose, and emphasize under the pointer. */
import type { Data } from "../data.ts";
import { button, element } from "../dom.ts";
import { rgb, type Color } from "../format.ts";
import type { Store } from "../state.ts";

/** A color, beside the name of what it stands for; room for one, if that has none. */
export function swatch(color: Color | null): HTMLElement {
  const made = element("span", { class: "swatch", "aria-hidden": "true" });
  if (color) made.style.backgroundColor = rgb(color);
  return made;
}

/** While the pointer is on an element, all views emphasize the cluster that it stands for. */
export function emphasizes(made: HTMLElement, node: number, store: Store): void {
  // a move, because what comes under a pointer at rest is not meant
  made.addEventListener("pointermove", () => {
    store.set({ hovered: node }, { step: false });
  });
  made.addEventListener("pointerleave", () => {
    store.set({ hovered: null }, { step: false });
  });
}

export function clusterButton(node: number, data: Data, store: Store): HTMLButtonElement {
  const title = store.titleOf(node);
  const made = button(
    "",
    () => {
      store.choose(node);
    },
    { class: "cluster", title },
  );
  made.append(swatch(data.color(node)), element("bdi", {}, title));
  emphasizes(made, node, store);
  return made;
}

export function pointButton(point: number, title: string, store: Store): HTMLButtonElement {
  const made = button(
    "",
    () => {
      store.set({ point });
    },
    { class: "cluster", title },
  );
  made.append(element("bdi", {}, title));
  return made;
}
