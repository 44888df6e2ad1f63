/** A line drawn around points, which selects them. */
import type { Points } from "../data.ts";
import type { Transform } from "./raster.ts";

export type Corner = readonly [x: number, y: number];

const SHORTEST = 3; // pixels between two corners
const SMALLEST = 3; // corners of a line that is around anything

/** The points within a line on the screen, in rising order. */
export function pointsWithin(line: readonly Corner[], points: Points, at: Transform): Uint32Array {
  const across = line.map(([x]) => x);
  const down = line.map(([, y]) => y);
  const [left, right] = [Math.min(...across), Math.max(...across)];
  const [top, bottom] = [Math.min(...down), Math.max(...down)];
  const found = [];
  for (let point = 0; point < points.count; point++) {
    const x = points.x[point]! * at.scaleX + at.x;
    const y = points.y[point]! * at.scaleY + at.y;
    if (x < left || x > right || y < top || y > bottom) continue;
    if (isWithin(line, x, y)) found.push(point);
  }
  return Uint32Array.from(found);
}

/** Whether a ray from the place crosses the closed line an odd number of times. */
export function isWithin(line: readonly Corner[], x: number, y: number): boolean {
  let within = false;
  let [beforeX, beforeY] = line.at(-1) ?? [0, 0];
  for (const [cornerX, cornerY] of line) {
    if (cornerY > y !== beforeY > y) {
      const crossing = beforeX + ((y - beforeY) / (cornerY - beforeY)) * (cornerX - beforeX);
      if (x < crossing) within = !within;
    }
    [beforeX, beforeY] = [cornerX, cornerY];
  }
  return within;
}

export interface Lasso {
  /** Corners of the line that is being drawn; empty if none is. */
  readonly line: readonly Corner[];
}

/**
 * Draw lines by dragging, where `wanted` says so. `drawn` is called while a line grows, and `done` with the whole
 * one. A second finger and Escape give up the line.
 */
export function lassoOn(
  area: HTMLElement,
  wanted: (event: PointerEvent) => boolean,
  drawn: () => void,
  done: (line: readonly Corner[]) => void,
): Lasso {
  let line: Corner[] = [];
  let pointer: number | null = null;
  let dragged = false;
  const cornerOf = (event: PointerEvent): Corner => {
    const box = area.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const giveUp = (): void => {
    pointer = null;
    line = [];
    drawn();
  };
  area.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (pointer !== null) giveUp();
    else if (event.button === 0 && wanted(event)) {
      pointer = event.pointerId;
      line = [cornerOf(event)];
      area.setPointerCapture(pointer);
    }
  });
  area.addEventListener("pointermove", (event) => {
    if (event.pointerId !== pointer) return;
    const corner = cornerOf(event);
    const [x, y] = line.at(-1)!;
    if (Math.hypot(corner[0] - x, corner[1] - y) < SHORTEST) return;
    dragged = true;
    line.push(corner);
    drawn();
  });
  area.addEventListener("pointerup", (event) => {
    if (event.pointerId !== pointer) return;
    const whole = line;
    giveUp();
    if (whole.length >= SMALLEST) done(whole);
  });
  area.addEventListener("pointercancel", giveUp);
  area.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || pointer === null) return;
    event.stopImmediatePropagation();
    giveUp();
  });
  // the click that ends a line is none
  area.addEventListener(
    "click",
    (event) => {
      if (dragged) event.stopImmediatePropagation();
      dragged = false;
    },
    { capture: true },
  );
  return {
    get line() {
      return line;
    },
  };
}
