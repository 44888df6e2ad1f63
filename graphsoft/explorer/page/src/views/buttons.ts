/** Buttons that stand for clusters and points: they choose, and emphasize under the pointer. */
import type { Data } from "../data.ts";
import { button, element } from "../dom.ts";
import { rgb, type Color } from "../format.ts";
import type { Store } from "../state.ts";

/** A color, beside the name of what it stands for. */
export function swatch(color: Color): HTMLElement {
  const made = element("span", { class: "swatch", "aria-hidden": "true" });
  made.style.backgroundColor = rgb(color);
  return made;
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
  // a move, because a button that comes under a pointer at rest is not meant
  made.addEventListener("pointermove", () => {
    store.set({ hovered: node }, { step: false });
  });
  made.addEventListener("pointerleave", () => {
    store.set({ hovered: null }, { step: false });
  });
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
