/** Everything about the chosen cluster, and about the chosen point. */
import type { Data } from "../data.ts";
import { changesAny, type Store } from "../state.ts";
import { clusterParts } from "./cluster_panel.ts";
import { overviewParts } from "./overview_panel.ts";
import { pointParts } from "./point_panel.ts";

export function mountPanel(place: HTMLElement, data: Data, store: Store): void {
  const known = { data, store };
  let request = 0;

  /** All is decoded before anything is shown, so that nothing jumps. */
  const show = async (moved: boolean): Promise<void> => {
    const mine = ++request;
    const { chosen, point } = store.state;
    const [shown, about] = await Promise.all([
      chosen === null ? overviewParts(known) : clusterParts(chosen, known),
      point === null ? [] : pointParts(point, known),
    ]);
    if (mine !== request) return;
    const focused = place.contains(document.activeElement) ? document.activeElement : null;
    place.replaceChildren(...about, ...shown);
    if (moved) place.scrollTop = 0;
    if (!focused) return;
    // what had the focus may be gone: then it goes to what took its place
    const again = focused.id ? document.getElementById(focused.id) : null;
    (again ?? place.querySelector("h2"))?.focus();
  };

  store.subscribe(({ chosen, point }, changed) => {
    const moved = changesAny(changed, "chosen", "point");
    const follows = changed.has("level") && (chosen === null || point !== null);
    if (moved || follows || changed.has("names")) void show(moved);
  });
  void show(false);
}
