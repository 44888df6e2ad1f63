/** The views of the stage, in the order of their tabs. */
import { CONFUSION } from "./confusion.ts";
import { POINTS } from "./points.ts";
import type { ViewKind } from "./view.ts";

export const STAGE: readonly ViewKind[] = [POINTS, CONFUSION];
