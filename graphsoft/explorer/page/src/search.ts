/** Search over names of clusters and points, texts, and the words that set clusters apart. */
import { entries, type Data } from "./data.ts";
import type { Store } from "./state.ts";

export type Found =
  | { kind: "cluster"; node: number; why: string }
  | { kind: "point"; point: number; title: string; why: string };

const MOST = 8; // of each kind
const AROUND = 30; // letters around what was found in a text

/** Find what holds all of the text, whatever its case; names before words, words before texts. */
export async function search(text: string, data: Data, store: Store): Promise<Found[]> {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const [names, texts] = await Promise.all([data.texts("names"), data.texts("texts")]);
  const found = [...clustersNamed(wanted, data, store), ...(await clustersWith(wanted, data))];
  const seen = new Set<number>();
  const clusters = found.filter(({ node }) => !seen.has(node) && seen.add(node)).slice(0, 2 * MOST);
  const points: Found[] = [];
  for (const [point, name] of (names ?? []).entries()) {
    if (points.length >= MOST) break;
    if (name.toLowerCase().includes(wanted)) points.push({ kind: "point", point, title: name, why: "" });
  }
  let inTexts = 0;
  for (const [point, each] of (texts ?? []).entries()) {
    if (inTexts >= MOST) break;
    const at = each.toLowerCase().indexOf(wanted);
    if (at < 0) continue;
    const why = each.slice(Math.max(at - AROUND, 0), at + wanted.length + AROUND);
    points.push({ kind: "point", point, title: await data.titleOfPoint(point), why });
    inTexts++;
  }
  return [...clusters, ...points];
}

type FoundCluster = Extract<Found, { kind: "cluster" }>;

/** Clusters by name or id, the coarse ones first. */
function clustersNamed(wanted: string, data: Data, store: Store): FoundCluster[] {
  const found: FoundCluster[] = [];
  for (let node = data.root - 1; node >= 0 && found.length < MOST; node--) {
    const name = store.nameOf(node);
    if (name.toLowerCase().includes(wanted) || data.id(node) === wanted)
      found.push({ kind: "cluster", node, why: "" });
  }
  return found;
}

/** Clusters that a feature sets apart from the rest, the coarse ones first, and then by score. */
async function clustersWith(wanted: string, data: Data): Promise<FoundCluster[]> {
  const features = await data.texts("features");
  const matching = new Set<number>();
  for (const [at, feature] of (features ?? []).entries())
    if (feature.toLowerCase().includes(wanted)) matching.add(at);
  if (!features || !matching.size) return [];
  const found: { node: number; feature: number; score: number }[] = [];
  for (let level = data.levels.length - 1; level >= 0 && found.length < MOST; level--) {
    const { apart } = await data.details(level);
    if (!apart) continue;
    const here: typeof found = [];
    for (let index = 0; index < data.levels[level]!.clusters; index++) {
      for (const [feature, score] of entries(apart, index)) {
        if (matching.has(feature) && score > 0)
          here.push({ node: data.nodeAt(level, index), feature, score });
      }
    }
    found.push(...here.sort((a, b) => b.score - a.score).slice(0, MOST));
  }
  return found
    .slice(0, MOST)
    .map(({ node, feature }) => ({ kind: "cluster", node, why: features[feature]! }));
}
