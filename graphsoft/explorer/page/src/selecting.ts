/** Sets of points that are selected in other ways than by a line around them. */
import type { Points, Shares } from "./data.ts";

/** Points whose likeliest cluster is this one, and whose label is this one; null stands for any. */
export function pointsOf(
  cluster: number | null,
  label: number | null,
  shares: Shares,
  points: Points,
): Uint32Array {
  const found = [];
  for (let point = 0; point < points.count; point++) {
    if (cluster !== null && shares.column[shares.start[point]!] !== cluster) continue;
    if (label !== null && points.label?.[point] !== label) continue;
    found.push(point);
  }
  return Uint32Array.from(found);
}

/** The points that are the most torn on a level, the most torn first. */
export function mostTorn(shares: Shares, count: number): number[] {
  const { entropy, start, value } = shares;
  const torn = [];
  for (let point = 0; point < entropy.length; point++) if (entropy[point]! > 0) torn.push(point);
  const share = (point: number): number => value[start[point]!]!;
  return torn.sort((a, b) => entropy[b]! - entropy[a]! || share(a) - share(b) || a - b).slice(0, count);
}
