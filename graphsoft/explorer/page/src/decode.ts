/** From the text of a member, which is base64, to bytes, arrays and values. */

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float32Array;

const ARRAYS = {
  u1: Uint8Array,
  u2: Uint16Array,
  u4: Uint32Array,
  f4: Float32Array,
} as const;

export type ArrayKind = keyof typeof ARRAYS;

export function isArrayKind(kind: string): kind is ArrayKind {
  return kind in ARRAYS;
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

export async function inflated(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** An array of a buffer in little-endian order, as all machines with browsers have it. */
export function arrayOf(kind: ArrayKind, length: number, buffer: ArrayBuffer): Numbers {
  const array = new ARRAYS[kind](buffer);
  if (array.length !== length) throw new Error(`a member has ${array.length} numbers, not ${length}`);
  return array;
}
