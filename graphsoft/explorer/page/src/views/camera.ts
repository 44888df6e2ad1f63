/** What of the map of clusters is in view, and how it is moved there. */
import type { Selection } from "d3-selection";
import { zoomIdentity, type ZoomBehavior, type ZoomTransform } from "d3-zoom";
import type { Box, Circle } from "./circles.ts";

const MARGIN = 0.94; // of the area, that all circles fill at first
const ROOM = { least: 0.6, most: 0.84 }; // of the area, that an opened cluster is to fill

/** Pixels of a length of 1, and of the place 0, 0. The y axis points up. */
interface Transform {
  scale: number;
  x: number;
  y: number;
}

export class Camera {
  /** How the user has moved the map from where all circles fit. */
  moved: ZoomTransform = zoomIdentity;
  private box: Box = [0, 0, 1, 1];
  private readonly area: HTMLElement;
  private readonly behavior: ZoomBehavior<HTMLDivElement, unknown>;
  private readonly selection: Selection<HTMLDivElement, unknown, null, undefined>;

  constructor(area: HTMLElement, behavior: Camera["behavior"], selection: Camera["selection"]) {
    this.area = area;
    this.behavior = behavior;
    this.selection = selection;
  }

  transform(): Transform {
    const { scale, x, y } = this.fit();
    return { scale: this.moved.k * scale, x: this.moved.applyX(x), y: this.moved.applyY(y) };
  }

  /** A circle in pixels. */
  onScreen<T extends Circle>(circle: T, { scale, x, y } = this.transform()): T {
    return { ...circle, x: circle.x * scale + x, y: y - circle.y * scale, r: circle.r * scale };
  }

  /** The place of a pointer. */
  placeOf(event: MouseEvent): [x: number, y: number] {
    const { scale, x, y } = this.transform();
    const frame = this.area.getBoundingClientRect();
    return [(event.clientX - frame.left - x) / scale, (event.clientY - frame.top - y) / -scale];
  }

  /** Take up the box of other circles, and still show the same places, if the map was moved. */
  setBox(box: Box): void {
    const before = this.transform();
    this.box = box;
    if (this.moved === zoomIdentity) return;
    const at = this.fit();
    const k = before.scale / at.scale;
    this.move(zoomIdentity.translate(before.x - k * at.x, before.y - k * at.y).scale(k));
  }

  /** Fill the area with a circle, unless it is whole and large enough already. */
  fill(circle: Circle): void {
    const { clientWidth: width, clientHeight: height } = this.area;
    const { x, y, r } = this.onScreen(circle);
    const side = Math.min(width, height);
    const whole = x >= r && y >= r && x + r <= width && y + r <= height;
    if (2 * r >= ROOM.least * side && whole) return;
    const next = zoomIdentity
      .translate(width / 2, height / 2)
      .scale((ROOM.most * side) / (2 * r))
      .translate(-x, -y)
      .translate(this.moved.x, this.moved.y)
      .scale(this.moved.k);
    this.move(next);
  }

  /** Bring a circle into the middle of the area, if its own middle is not in view. */
  bring(circle: Circle): void {
    const { clientWidth: width, clientHeight: height } = this.area;
    const { x, y } = this.onScreen(circle);
    if (x >= 0 && y >= 0 && x <= width && y <= height) return;
    const { k } = this.moved;
    this.behavior.translateBy(this.selection, (width / 2 - x) / k, (height / 2 - y) / k);
  }

  /** Where all circles fit. */
  private fit(): Transform {
    const [x0, y0, x1, y1] = this.box;
    const { clientWidth: width, clientHeight: height } = this.area;
    const scale = MARGIN * Math.min(width / (x1 - x0 || 1), height / (y1 - y0 || 1));
    return { scale, x: width / 2 - (scale * (x0 + x1)) / 2, y: height / 2 + (scale * (y0 + y1)) / 2 };
  }

  private move(next: ZoomTransform): void {
    this.behavior.transform(this.selection, next);
  }
}
