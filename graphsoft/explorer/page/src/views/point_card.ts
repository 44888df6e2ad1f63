/** What a card shows of a point. */
import { entries, SHARE, type Data } from "../data.ts";
import { element } from "../dom.ts";
import { percent } from "../format.ts";
import { pictureOf } from "../pictures.ts";
import type { Store } from "../state.ts";
import { swatch } from "./buttons.ts";

const PICTURE = 96;
const MIN_SHARE = 0.05; // smaller ones are not on the card
const MOST = 3;

/** Its name, its clusters on the level that maps show, its label, its picture and its text. */
export async function cardOfPoint(point: number, data: Data, store: Store): Promise<Node[]> {
  const { level } = store.state;
  const [title, texts, labels, points, shares, picture] = await Promise.all([
    data.titleOfPoint(point),
    data.texts("texts"),
    data.texts("labels"),
    data.points(),
    data.shares(level),
    pictureOf(point, PICTURE, data),
  ]);
  const clusters = [...entries(shares, point)].map(([index, value], at) => {
    if (at && (at >= MOST || value < MIN_SHARE * SHARE)) return null;
    const node = data.nodeAt(level, index);
    return element(
      "p",
      {},
      swatch(data.color(node)),
      ` ${percent(value / SHARE)} `,
      element("bdi", {}, store.titleOf(node)),
    );
  });
  const parts = [element("strong", {}, title), ...clusters, picture];
  if (labels && points.label)
    parts.push(element("p", {}, "Label: ", element("bdi", {}, labels[points.label[point]!])));
  if (texts?.[point]) parts.push(element("p", { class: "text", dir: "auto" }, texts[point]));
  return parts.filter((part) => part !== null);
}
