/** Pictures of points, cut from sheets or read from files when they are first asked for. */
import { starts, type Data, type Sheets } from "./data.ts";

interface Part {
  source: ImageBitmap;
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A canvas with the picture of a point, `size` CSS pixels on its longer side; null if it has none. */
export async function pictureOf(point: number, size: number, data: Data): Promise<HTMLCanvasElement | null> {
  const { images } = data.head;
  if (!images) return null;
  try {
    const part = await (images.form === "files" ? fromFile(point, data) : fromSheet(point, images, data));
    return part && drawn(part, size);
  } catch {
    return null; // a file that the browser cannot read
  }
}

async function fromSheet(point: number, sheets: Sheets, data: Data): Promise<Part> {
  const { width, height, columns, rows } = sheets;
  const number = Math.floor(point / (columns * rows));
  const place = point % (columns * rows);
  const source = await data.once(`sheet ${number}`, () =>
    createImageBitmap(new Blob([data.bytes(`image/${number}`)], { type: "image/png" })),
  );
  return { source, x: (place % columns) * width, y: Math.floor(place / columns) * height, width, height };
}

async function fromFile(point: number, data: Data): Promise<Part | null> {
  const { bytes, start } = await data.once("files", async () => ({
    bytes: data.bytes("image/0"),
    start: starts(await data.array("image_size")),
  }));
  const file = bytes.subarray(start[point], start[point + 1]);
  if (!file.length) return null;
  const source = await createImageBitmap(new Blob([file]));
  return { source, x: 0, y: 0, width: source.width, height: source.height };
}

function drawn({ source, x, y, width, height }: Part, size: number): HTMLCanvasElement {
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
