/** What every view is. To add one, write a `ViewKind` in a file here, and list it in views/index.ts. */
import type { Data } from "../data.ts";
import type { Store } from "../state.ts";

/** A part of the page that must know of its size. */
export interface Sized {
  /** The element has another size. */
  resize(): void;
}

/** A view that is shown. It listens to the store by itself, until it is destroyed. */
export interface View extends Sized {
  /** Stop listening, and leave the element to whoever gave it. */
  destroy(): void;
}

export type Mount = (element: HTMLElement, data: Data, store: Store) => View;

/** A view on the stage, which has a tab for each kind that is available. */
export interface ViewKind {
  /** For the address; short and lower case. */
  id: string;
  title: string;
  available(data: Data): boolean;
  mount: Mount;
}
