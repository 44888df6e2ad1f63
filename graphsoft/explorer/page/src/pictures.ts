/** Pictures of points, cut from sheets or read from files when they are first asked for. */
import type { Data } from "./data.ts";

export class Pictures {
  private readonly data: Data;
  private readonly sheets = new Map<number, Promise<ImageBitmap>>();
  private files: Promise<{ bytes: Uint8Array<ArrayBuffer>; start: Uint32Array }> | null = null;

  constructor(data: Data) {
    this.data = data;
  }

  /** A canvas with the picture of a point, `size` CSS pixels on its longer side; null if it has none. */
  async of(point: number, size: number): Promise<HTMLCanvasElement | null> {
    const images = this.data.head.images;
    if (!images) return null;
    try {
      if (images.form === "files") {
        const file = await this.file(point);
        return file && drawn(file, 0, 0, file.width, file.height, size);
      }
      const perSheet = images.columns * images.rows;
      const place = point % perSheet;
      const sheet = await this.sheet(Math.floor(point / perSheet));
      const { width, height, columns } = images;
      return drawn(
        sheet,
        (place % columns) * width,
        Math.floor(place / columns) * height,
        width,
        height,
        size,
      );
    } catch {
      return null; // a file that the browser cannot read
    }
  }

  private sheet(number: number): Promise<ImageBitmap> {
    let sheet = this.sheets.get(number);
    if (!sheet) {
      sheet = createImageBitmap(new Blob([this.data.bytes(`image/${number}`)], { type: "image/png" }));
      this.sheets.set(number, sheet);
    }
    return sheet;
  }

  private async file(point: number): Promise<ImageBitmap | null> {
    this.files ??= this.data.array("image_size").then((sizes) => {
      const start = new Uint32Array(sizes.length + 1);
      for (let at = 0; at < sizes.length; at++) start[at + 1] = start[at]! + sizes[at]!;
      return { bytes: this.data.bytes("image/0"), start };
    });
    const { bytes, start } = await this.files;
    const file = bytes.subarray(start[point], start[point + 1]);
    return file.length ? createImageBitmap(new Blob([file])) : null;
  }
}

function drawn(
  source: ImageBitmap,
  x: number,
  y: number,
  width: number,
  height: number,
  size: number,
): HTMLCanvasElement {
  const scale = size / Math.max(width, height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(Math.round(width * scale), 1);
  canvas.height = Math.max(Math.round(height * scale), 1);
  canvas.className = "picture";
  const context = canvas.getContext("2d")!;
  context.imageSmoothingEnabled = scale < 1; // small pictures show their pixels
  context.drawImage(source, x, y, width, height, 0, 0, canvas.width, canvas.height);
  return canvas;
}
