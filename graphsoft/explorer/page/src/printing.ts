/** Lays the page out for paper before it is printed: a canvas keeps the size that it was drawn in. */
import { drawWaiting } from "./dom.ts";
import type { Sized } from "./views/view.ts";

export function followPrinting(views: readonly Sized[]): void {
  const { dataset } = document.documentElement;
  const redraw = (): void => {
    for (const view of views) view.resize();
    drawWaiting();
  };
  window.addEventListener("beforeprint", () => {
    dataset.printing = "";
    redraw();
  });
  window.addEventListener("afterprint", () => {
    delete dataset.printing;
    redraw();
  });
}
