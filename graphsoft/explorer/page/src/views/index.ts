/** The views of the stage, in the order of their tabs. */
import { CLUSTERS } from "./clusters.ts";
import { CONFUSION } from "./confusion.ts";
import { FLOW } from "./flow.ts";
import { POINTS } from "./points.ts";
import type { ViewKind } from "./view.ts";

export const STAGE: readonly ViewKind[] = [POINTS, CLUSTERS, FLOW, CONFUSION];
