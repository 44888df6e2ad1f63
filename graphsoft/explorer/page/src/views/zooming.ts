/** What all maps have to move and zoom: buttons and keys, beside the pointer that d3-zoom follows. */
import { type Selection } from "d3-selection";
import { zoomIdentity, type ZoomBehavior } from "d3-zoom";
import { button, element } from "../dom.ts";

type Behavior = ZoomBehavior<HTMLDivElement, unknown>;
type Area = Selection<HTMLDivElement, unknown, null, undefined>;

export function zoomControls(behavior: Behavior, area: Area, ...others: HTMLElement[]): HTMLElement {
  const by = (factor: number) => (): void => {
    behavior.scaleBy(area, factor);
  };
  return element(
    "div",
    { class: "controls" },
    ...others,
    button("+", by(1.6), { "aria-label": "Zoom in" }),
    button("\u2212", by(1 / 1.6), { "aria-label": "Zoom out" }),
    button("Fit", () => {
      behavior.transform(area, zoomIdentity);
    }),
  );
}

/** Zoom by plus, minus and 0; tells whether the key meant something. */
export function zoomKey(key: string, behavior: Behavior, area: Area): boolean {
  if (key === "+" || key === "=") behavior.scaleBy(area, 1.3);
  else if (key === "-") behavior.scaleBy(area, 1 / 1.3);
  else if (key === "0") behavior.transform(area, zoomIdentity);
  else return false;
  return true;
}

/** Put a tip beside a place in an area, and within it. */
export function placeTip(tip: HTMLElement, area: HTMLElement, x: number, y: number): void {
  tip.hidden = false;
  tip.style.left = `${Math.max(Math.min(x + 14, area.clientWidth - tip.offsetWidth - 4), 4)}px`;
  tip.style.top = `${Math.max(Math.min(y + 14, area.clientHeight - tip.offsetHeight - 4), 4)}px`;
}
