/** The ruler of levels, from the finest to the coarsest, with their sizes; all views follow it. */
import type { Data } from "../data.ts";
import { element } from "../dom.ts";
import { plural, short } from "../format.ts";
import type { Store } from "../state.ts";

const MOST_SIZES = 7; // that are written below the ruler

export function mountRuler(place: HTMLElement, data: Data, store: Store): void {
  const last = data.levels.length - 1;
  const slider = element("input", {
    type: "range",
    min: 0,
    max: last,
    step: 1,
    id: "level",
    "aria-label": "Level",
    title: "Drag, or use the arrow keys: [ and ] anywhere",
  });
  const text = element("output", { for: "level" });
  const every = Math.ceil(data.levels.length / MOST_SIZES);
  const sizes = data.levels.map(({ clusters }, at) =>
    element("span", {}, at % every === 0 || at === last ? short(clusters) : ""),
  );
  for (const [at, size] of sizes.entries()) {
    size.addEventListener("click", () => {
      store.set({ level: at });
    });
  }
  // for the mouse; keys and screen readers have the slider
  const ticks = element("div", { class: "ticks", "aria-hidden": "true" }, ...sizes);
  place.replaceChildren(
    element("label", { for: "level" }, "Level"),
    element("div", { class: "ruler" }, slider, ticks),
    text,
  );
  let dragging = false; // all of a drag is one step to undo
  slider.addEventListener("input", () => {
    store.set({ level: Number(slider.value) }, { step: !dragging });
    dragging = true;
  });
  slider.addEventListener("change", () => {
    dragging = false;
  });
  const show = (): void => {
    const { level } = store.state;
    const clusters = plural(data.levels[level]!.clusters, "cluster");
    slider.value = String(level);
    slider.setAttribute("aria-valuetext", clusters);
    text.textContent = clusters;
    for (const [at, size] of sizes.entries()) size.classList.toggle("here", at === level);
  };
  store.subscribe((_, changed) => {
    if (changed.has("level")) show();
  });
  show();
}
