/** Points as CSV, in the form that graphsoft writes: see graphsoft/formats/frames.py. */
import { entries, type Data } from "./data.ts";
import type { Store } from "./state.ts";

// A text that a spreadsheet would run as a formula, or one that looks as if a quote had been put before it.
const FORMULA = /^'*[=+\-@\t\r\0]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

export type Value = string | number;

/** Rows as CSV. All text is quoted, and a text that a spreadsheet would run has a quote before it. */
export function csv(rows: readonly (readonly Value[])[]): string {
  return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
}

function cell(value: Value): string {
  if (typeof value === "number") return String(value);
  const harmless = FORMULA.test(value) && !NUMBER.test(value) ? `'${value}` : value;
  return `"${harmless.replaceAll('"', '""')}"`;
}

/**
 * Names, texts and labels of points, and for each level, finest first, the likeliest cluster, what it is called,
 * and all clusters with their probabilities.
 */
export async function tableOf(chosen: Uint32Array, data: Data, store: Store): Promise<Value[][]> {
  const [points, names, texts, labels] = await Promise.all([
    data.points(),
    data.texts("names"),
    data.texts("texts"),
    data.labels(),
  ]);
  const levels = await Promise.all(data.levels.map((_, level) => data.shares(level)));
  const header = ["name", ...(texts ? ["text"] : []), ...(labels ? ["label"] : [])];
  for (const level of levels.keys())
    header.push(`level_${level}`, `cluster_${level}`, `probabilities_${level}`);
  const rows: Value[][] = [header];
  for (const point of chosen) {
    const row: Value[] = [names?.[point] ?? points.row?.[point] ?? point];
    if (texts) row.push(texts[point]!);
    if (labels) row.push(labels.texts[points.label![point]!]!);
    for (const [level, shares] of levels.entries()) {
      const clusters = [...entries(shares, point)];
      const likeliest = clusters[0]![0];
      const chances = clusters.map(([index, share]) => `${level}-${index} ${share.toFixed(3)}`);
      row.push(likeliest, store.titleOf(data.nodeAt(level, likeliest)), chances.join("; "));
    }
    rows.push(row);
  }
  return rows;
}
