// What goes out: JSON that a server can read, and not more of it than it takes.
import { Refused } from "../errors.js";

/** Half a character, as an emoji that was cut in the middle has: JSON can write it, UTF-8 cannot. */
const HALF = /\\ud[89a-f]/;

/** Written as JSON, with a replacement character for what is no text. */
export function written(value: object): string {
  const raw = JSON.stringify(value);
  return HALF.test(raw) ? JSON.stringify(value, (_, part) => wellFormed(part)) : raw;
}

function wellFormed(part: unknown): unknown {
  return typeof part === "string" ? new TextDecoder().decode(utf8(part)) : part;
}

/** Why it cannot be sent. A server cuts off unread what is far too large, and the line with it. */
export function tooLarge(raw: string, most: number | undefined): Refused | undefined {
  // A string is never longer than three bytes for each of its parts.
  if (!most || raw.length * 3 <= most || utf8(raw).length <= most) return undefined;
  return new Refused({
    code: "PAYLOAD_TOO_LARGE",
    message: `The server takes at most ${most} bytes.`,
    what_to_do: "Upload it as a blob.",
    data: { max_frame_bytes: most },
  });
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}
