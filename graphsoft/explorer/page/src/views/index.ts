/** The views of the stage, in the order of their tabs. */
import type { ViewKind } from "./view.ts";

export const STAGE: readonly ViewKind[] = [];
