/** Buttons that stand for clusters and points: they choose, and emphasize under the pointer. */
import type { Data } from "../data.ts";
import { button, element } from "../dom.ts";
import { rgb } from "../format.ts";
import type { Store } from "../state.ts";

export function clusterButton(node: number, data: Data, store: Store): HTMLButtonElement {
  const title = store.titleOf(node);
  const made = button(
    "",
    () => {
      store.choose(node);
    },
    { class: "cluster", title },
  );
  const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.backgroundColor = rgb(data.color(node));
  made.append(swatch, element("bdi", {}, title));
  made.addEventListener("pointerenter", () => {
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
