/** A card beside the pointer or the finger, with what is known of the thing there. */
import { element } from "../dom.ts";
import { placeTip } from "./zooming.ts";

export interface Card {
  /** Show the card at a place of its area, once its content is there; none if it is of this thing already. */
  show(of: number, x: number, y: number, content: () => Promise<Node[]> | Node[]): Promise<void>;
  hide(): void;
}

export function cardIn(area: HTMLElement): Card {
  const made = element("div", { class: "tip", hidden: true });
  area.append(made);
  let shown: number | null = null;
  return {
    async show(of, x, y, content) {
      if (of === shown) return;
      shown = of;
      const parts = await content();
      if (of !== shown) return; // hidden, or of something else by now
      made.replaceChildren(...parts);
      placeTip(made, area, x, y);
    },
    hide() {
      shown = null;
      made.hidden = true;
    },
  };
}
