// Encodes outgoing frames as valid JSON, and limits their size.
import { Refused } from "../errors.js";

/** A lone surrogate, for example half of an emoji: JSON can encode it, UTF-8 cannot. */
const HALF = /\\ud[89a-f]/;

/** Encodes a value as JSON, with a replacement character for lone surrogates. */
export function written(value: object): string {
  const raw = JSON.stringify(value);
  return HALF.test(raw) ? JSON.stringify(value, (_, part) => wellFormed(part)) : raw;
}

function wellFormed(part: unknown): unknown {
  return typeof part === "string" ? new TextDecoder().decode(utf8(part)) : part;
}

/**
 * Returns why a frame cannot be sent. The server would close the connection on a frame that is too
 * large.
 */
export function tooLarge(raw: string, most: number | undefined): Refused | undefined {
  // A UTF-16 unit has at most three bytes in UTF-8.
  if (!most || raw.length * 3 <= most || utf8(raw).length <= most) return undefined;
  return new Refused({
    code: "PAYLOAD_TOO_LARGE",
    message: `A frame has no more than ${most} bytes (max_frame_bytes).`,
    what_to_do: "Upload it as a blob.",
    data: { max_frame_bytes: most },
  });
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
