/** Colors of points: blends of their clusters' colors by membership, as opaque as they are certain. */
import type { Numbers } from "../decode.ts";
import type { Shares } from "../data.ts";

// Opacity, of 255: of the most torn point, and of points that are not emphasized.
const TORN = 50;
const OUTSIDE = 22;

/** How opaque a point is, by the share of its likeliest cluster: half as certain is far less than half. */
function opacity(share: number): number {
  const certainty = Math.max(share - 0.2, 0) / 0.8;
  return TORN + (255 - TORN) * certainty ** 1.5;
}

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
    rgba[4 * point + 3] = opacity(value[first]!);
  }
  return rgba;
}

/** The colors of the points' labels, as opaque as points are certain of their clusters. */
export function labelled(shares: Shares, label: Numbers, color: Uint8Array): Uint8Array {
  const rgba = new Uint8Array(4 * label.length);
  for (let point = 0; point < label.length; point++) {
    rgba.set(color.subarray(3 * label[point]!, 3 * label[point]! + 3), 4 * point);
    rgba[4 * point + 3] = opacity(shares.value[shares.start[point]!]!);
  }
  return rgba;
}

/** The same colors with some points emphasized. */
export function onlySelected(rgba: Uint8Array, selected: Uint32Array): Uint8Array {
  const result = rgba.slice();
  for (let at = 3; at < result.length; at += 4) result[at] = OUTSIDE;
  for (const point of selected) result[4 * point + 3] = 255;
  return result;
}

/** The same colors with the points of one cluster emphasized, by their memberships in it. */
export function emphasized(rgba: Uint8Array, shares: Shares, cluster: number): Uint8Array {
  const { start, column, value } = shares;
  const result = rgba.slice();
  for (let point = 0; point < start.length - 1; point++) {
    let share = 0;
    for (let at = start[point]!; at < start[point + 1]!; at++) if (column[at] === cluster) share = value[at]!;
    result[4 * point + 3] = share ? 80 + 175 * share : OUTSIDE;
  }
  return result;
}

export interface Center {
  x: number;
  y: number;
}

const ROUNDS = 5; // after which a middle hardly moves

/**
 * The middle of the points of each cluster, by the squares of memberships; NaN for a cluster without points. It
 * is a median: of two groups that are far apart, it is in the heavier one.
 */
export function centers(shares: Shares, clusters: number, x: Numbers, y: Numbers): Center[] {
  let middles: Center[] | null = null;
  for (let round = 0; round < ROUNDS; round++) middles = means(shares, clusters, x, y, middles);
  return middles!;
}

/** Mean places, where points weigh less the further they are from the last middles. */
function means(
  shares: Shares,
  clusters: number,
  x: Numbers,
  y: Numbers,
  last: readonly Center[] | null,
): Center[] {
  const sums = Array.from({ length: clusters }, () => ({ x: 0, y: 0, weight: 0 }));
  for (let point = 0; point < shares.start.length - 1; point++) {
    for (let at = shares.start[point]!; at < shares.start[point + 1]!; at++) {
      const cluster = shares.column[at]!;
      const away = last ? Math.hypot(x[point]! - last[cluster]!.x, y[point]! - last[cluster]!.y) + 1 : 1;
      const weight = shares.value[at]! ** 2 / away;
      const sum = sums[cluster]!;
      sum.x += weight * x[point]!;
      sum.y += weight * y[point]!;
      sum.weight += weight;
    }
  }
  return sums.map((sum) => ({ x: sum.x / sum.weight, y: sum.y / sum.weight }));
}
