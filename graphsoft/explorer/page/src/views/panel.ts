/** Everything about the chosen cluster. */
import type { Data } from "../data.ts";
import { element } from "../dom.ts";
import { plural } from "../format.ts";
import type { Store } from "../state.ts";
import type { View } from "./view.ts";

export function mountPanel(place: HTMLElement, data: Data, store: Store): View {
  const show = (): void => {
    const { chosen } = store.state;
    const node = chosen ?? data.root;
    place.replaceChildren(
      element("h2", {}, store.titleOf(node)),
      element("p", {}, plural(data.size(node), "point")),
    );
  };
  const stop = store.subscribe((_, changed) => {
    if (changed.has("chosen") || changed.has("names")) show();
  });
  show();
  return { resize: () => undefined, destroy: stop };
}
