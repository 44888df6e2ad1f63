/**
 * Draws points into pixels. At 100,000 points this is faster than any drawing call of a canvas, and it needs no
 * graphics card: a frame takes a few milliseconds.
 */

const SOLID = 250; // an opacity, from which nothing below is seen

/** Pixels per unit of the points' coordinates, and where the origin is. */
export interface Transform {
  scaleX: number;
  scaleY: number;
  x: number;
  y: number;
}

export interface Pixels {
  width: number;
  height: number;
  /** Four bytes for each pixel, from red to opacity, as one number in little-endian order. */
  values: Uint32Array;
}

export interface Dots {
  count: number;
  x: ArrayLike<number>;
  y: ArrayLike<number>;
  /** Red, green, blue and opacity of each. */
  rgba: Uint8Array;
}

/** Draw discs over what is there; all pixels stay opaque. Points beyond the edge are left out. */
export function drawDots(pixels: Pixels, dots: Dots, transform: Transform, radius: number): void {
  const { width, height, values } = pixels;
  const { x, y, rgba, count } = dots;
  const reach = Math.ceil(radius);
  const spans = spansOf(radius, reach);
  for (let dot = 0; dot < count; dot++) {
    const opacity = rgba[4 * dot + 3]!;
    if (opacity === 0) continue;
    const centerX = Math.round(x[dot]! * transform.scaleX + transform.x);
    const centerY = Math.round(y[dot]! * transform.scaleY + transform.y);
    if (centerX < reach || centerY < reach || centerX >= width - reach || centerY >= height - reach) continue;
    const solid = 0xff000000 | (rgba[4 * dot + 2]! << 16) | (rgba[4 * dot + 1]! << 8) | rgba[4 * dot]!;
    // red and blue are blended together, as two parts of one number
    const redBlue = Math.imul(solid & 0xff00ff, opacity);
    const green = Math.imul(solid & 0xff00, opacity);
    const rest = 256 - opacity;
    for (let row = -reach; row <= reach; row++) {
      const span = spans[row + reach]!;
      if (span < 0) continue;
      const middle = (centerY + row) * width + centerX;
      if (opacity >= SOLID) {
        for (let at = middle - span; at <= middle + span; at++) values[at] = solid;
        continue;
      }
      for (let at = middle - span; at <= middle + span; at++) {
        const below = values[at]!;
        values[at] =
          0xff000000 |
          (((Math.imul(below & 0xff00ff, rest) + redBlue) >>> 8) & 0xff00ff) |
          (((Math.imul(below & 0xff00, rest) + green) >>> 8) & 0xff00);
      }
    }
  }
}

/** How far a disc reaches to the side in each of its rows; -1 where it does not. */
function spansOf(radius: number, reach: number): Int32Array {
  const spans = new Int32Array(2 * reach + 1);
  for (let row = -reach; row <= reach; row++) {
    const rest = (radius + 0.25) ** 2 - row * row;
    spans[row + reach] = rest < 0 ? -1 : Math.floor(Math.sqrt(rest));
  }
  return spans;
}
