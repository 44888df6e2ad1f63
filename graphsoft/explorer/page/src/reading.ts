/** What people read of a point. */
import type { Data } from "./data.ts";

/** What a point is called, its name or its row in the data; and its text, unless that is what it is called. */
export async function reading(point: number, data: Data): Promise<{ title: string; text: string }> {
  const [names, texts, { row }] = await Promise.all([
    data.texts("names"),
    data.texts("texts"),
    data.points(),
  ]);
  const title = names?.[point] ?? `point ${row?.[point] ?? point}`;
  const text = texts?.[point] ?? "";
  return { title, text: text === title ? "" : text };
}
