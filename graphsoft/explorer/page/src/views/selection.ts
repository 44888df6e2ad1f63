/** The bar below the maps, with what can be done with the selected points. */
import type { Data } from "../data.ts";
import { button, download, element } from "../dom.ts";
import { plural } from "../format.ts";
import { changesAny, type Store } from "../state.ts";
import { csv, tableOf } from "../table.ts";

export function mountSelection(place: HTMLElement, data: Data, store: Store): void {
  const text = element("strong", {});
  const save = async (selected: Uint32Array): Promise<void> => {
    download("points.csv", csv(await tableOf(selected, data, store)), "text/csv");
  };
  const map = button("Show on the map", () => {
    store.set({ stage: "points" });
  });
  place.replaceChildren(
    text,
    map,
    button(
      "Save CSV",
      () => {
        if (store.state.selected) void save(store.state.selected);
      },
      { title: "Names, texts, labels and clusters of the selected points as a table" },
    ),
    button("Clear", () => {
      store.set({ selected: null });
    }),
  );
  const show = (): void => {
    const { selected, stage } = store.state;
    place.hidden = selected === null;
    map.hidden = stage === "points";
    if (selected) text.textContent = `${plural(selected.length, "point")} selected`;
  };
  store.subscribe((_, changed) => {
    if (changesAny(changed, "selected", "stage")) show();
  });
  show();
}
