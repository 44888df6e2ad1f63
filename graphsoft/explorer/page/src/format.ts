/** Numbers and colors as people read them. */

export type Color = readonly [number, number, number];

export function count(value: number): string {
  return value.toLocaleString("en-US");
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Four digits, as Python's `.4g`. */
export function number(value: number): string {
  return Math.abs(value) >= 1000 ? count(Math.round(value)) : String(Number(value.toPrecision(4)));
}

export function percent(share: number): string {
  const value = 100 * share;
  return `${value > 0 && value < 9.95 ? value.toFixed(1) : value.toFixed(0)} %`;
}

export function rgb(color: Color): string {
  return `rgb(${color[0]} ${color[1]} ${color[2]})`;
}

/** One of many colors that stand one after another. */
export function colorAt(colors: ArrayLike<number>, index: number): Color {
  return [colors[3 * index]!, colors[3 * index + 1]!, colors[3 * index + 2]!];
}

/** A color that a style computes to, such as "rgb(29, 95, 168)". */
export function computed(text: string): Color {
  return colorAt((text.match(/[\d.]+/g) ?? []).map(Number), 0);
}

/** A color with that of the paper mixed in: `share` of the color is kept. */
export function mixed(color: Color, paper: Color, share: number): Color {
  const part = (at: 0 | 1 | 2): number => Math.round(paper[at] + share * (color[at] - paper[at]));
  return [part(0), part(1), part(2)];
}

/** Black or white, whichever is easier to read on the color: at least 4.5 to 1, as WCAG asks. */
export function inkOn(color: Color): string {
  return luminance(color) > 0.179 ? "#000" : "#fff";
}

export function luminance(color: Color): number {
  const [r, g, b] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

/** At most so many letters of a text. */
export function shortened(text: string, letters: number): string {
  return text.length > letters ? `${text.slice(0, letters - 1)}\u2026` : text;
}

/** Few letters for a large number: 10K for 10,000. */
export function short(value: number): string {
  return value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 1 });
}
