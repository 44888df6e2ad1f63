/** Elements, made of tags, attributes and texts. Texts become text nodes and nothing else. */

type Attributes = Record<string, string | number | boolean | null | undefined>;
type Child = Node | string | null | undefined;

export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children);
}

function filled<Made extends Element>(made: Made, attributes: Attributes, children: Child[]): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) made.append(child);
  return made;
}

/** An element of SVG, made in the same way. */
export function drawing<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

export function button(text: string, onClick: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = element("button", { type: "button", ...attributes }, text);
  made.addEventListener("click", onClick);
  return made;
}

const waiting = new Set<() => void>();

/** A function that calls `draw` once in the next frame, however often it is called before. */
export function inNextFrame(draw: () => void): () => void {
  return () => {
    if (waiting.has(draw)) return;
    waiting.add(draw);
    requestAnimationFrame(() => {
      if (waiting.delete(draw)) draw();
    });
  };
}

/** Draw now what waits for the next frame, which does not come before a page is printed. */
export function drawWaiting(): void {
  for (const draw of waiting) {
    waiting.delete(draw);
    draw();
  }
}

export function download(name: string, text: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

/** Whether keys go into a text. */
export function isTyping(event: Event): boolean {
  return event.target instanceof HTMLInputElement && event.target.type !== "range";
}

export function isQuiet(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}

const MOST_PIXELS = 2; // per CSS pixel, on a screen
const PRINTED = 4; // a power of 2: on paper Chromium rounds the scale of a canvas to 64ths

/** Fit a canvas to an element; returns its pixels per CSS pixel. */
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): number {
  const ratio = isPrinting() ? PRINTED : Math.min(window.devicePixelRatio || 1, MOST_PIXELS);
  canvas.width = Math.max(Math.round(width * ratio), 1);
  canvas.height = Math.max(Math.round(height * ratio), 1);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  return ratio;
}

/** Whether the page is laid out for paper: see printing.ts. */
export function isPrinting(): boolean {
  return "printing" in document.documentElement.dataset;
}

/** Call `then` whenever the colors of the system change, until the returned function is called. */
export function onSystemColors(then: () => void): () => void {
  const queries = ["(prefers-color-scheme: dark)", "(forced-colors: active)"].map((query) =>
    window.matchMedia(query),
  );
  for (const query of queries) query.addEventListener("change", then);
  return () => {
    for (const query of queries) query.removeEventListener("change", then);
  };
}

/** Colors of the page for a canvas, as rgb(): in the style they may be colors of the system. */
export function colorsOf(area: HTMLElement): { paper: string; ink: string; accent: string; font: string } {
  const { backgroundColor, color, caretColor, fontFamily } = getComputedStyle(area);
  return { paper: backgroundColor, ink: color, accent: caretColor, font: fontFamily };
}
