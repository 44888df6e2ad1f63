/** Colors of points: blends of their clusters' colors by membership, as opaque as they are certain. */
import type { Numbers } from "../decode.ts";
import { SHARE, type Shares } from "../data.ts";

// Opacity, of 255: of the most torn point, and of points outside an emphasized cluster.
const TORN = 70;
const OUTSIDE = 22;

/** Red, green, blue and opacity of every point. `shares` and `color` are of one level. */
export function blended(shares: Shares, color: Uint8Array): Uint8Array {
  const { start, column, value } = shares;
  const count = start.length - 1;
  const rgba = new Uint8Array(4 * count);
  for (let point = 0; point < count; point++) {
    const first = start[point]!;
    const end = start[point + 1]!;
    let red = 0;
    let green = 0;
    let blue = 0;
    let sum = 0;
    for (let at = first; at < end; at++) {
      const share = value[at]!;
      const cluster = 3 * column[at]!;
      red += share * color[cluster]!;
      green += share * color[cluster + 1]!;
      blue += share * color[cluster + 2]!;
      sum += share;
    }
    rgba[4 * point] = red / sum;
    rgba[4 * point + 1] = green / sum;
    rgba[4 * point + 2] = blue / sum;
    rgba[4 * point + 3] = TORN + ((255 - TORN) * value[first]!) / SHARE;
  }
  return rgba;
}

/** The same colors with the points of one cluster emphasized, by their memberships in it. */
export function emphasized(rgba: Uint8Array, shares: Shares, cluster: number): Uint8Array {
  const { start, column, value } = shares;
  const result = rgba.slice();
  for (let point = 0; point < start.length - 1; point++) {
    let share = 0;
    for (let at = start[point]!; at < start[point + 1]!; at++) if (column[at] === cluster) share = value[at]!;
    result[4 * point + 3] = share ? 80 + (175 * share) / SHARE : OUTSIDE;
  }
  return result;
}

export interface Center {
  x: number;
  y: number;
}

/** The middle of the points of each cluster, by the squares of memberships; NaN for a cluster without points. */
export function centers(shares: Shares, clusters: number, x: Numbers, y: Numbers): Center[] {
  const sums = Array.from({ length: clusters }, () => ({ x: 0, y: 0, weight: 0 }));
  for (let point = 0; point < shares.start.length - 1; point++) {
    for (let at = shares.start[point]!; at < shares.start[point + 1]!; at++) {
      const sum = sums[shares.column[at]!]!;
      const weight = shares.value[at]! ** 2;
      sum.x += weight * x[point]!;
      sum.y += weight * y[point]!;
      sum.weight += weight;
    }
  }
  return sums.map((sum) => ({ x: sum.x / sum.weight, y: sum.y / sum.weight }));
}
