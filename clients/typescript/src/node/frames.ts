// Encodes and decodes WebSocket frames (RFC 6455, section 5) for a client.
import { randomBytes } from "node:crypto";

export const TEXT = 1;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

/** A complete message, or a control frame. */
export interface Message {
  opcode: number;
  data: Buffer;
}

/** Encodes a frame of a client: unfragmented and masked. */
export function frameOf(opcode: number, data: Buffer): Buffer {
  const size = data.length;
  const head = size < 126 ? Buffer.of(0, size) : Buffer.alloc(size < 65536 ? 4 : 10);
  if (head.length === 4) {
    head[1] = 126;
    head.writeUInt16BE(size, 2);
  } else if (head.length === 10) {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(size), 2);
  }
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | (head[1] as number);
  const mask = randomBytes(4);
  const masked = Buffer.allocUnsafe(size);
  for (let at = 0; at < size; at += 1) masked[at] = (data[at] as number) ^ (mask[at & 3] as number);
  return Buffer.concat([head, mask, masked]);
}

/** Assembles bytes into messages. */
export class FrameReader {
  readonly #waiting: Buffer[] = [];
  #size = 0;
  /** The number of bytes that the next step needs, so that a large frame is assembled only once. */
  #needed = 2;
  #parts: Buffer[] = [];
  #opcode = 0;

  /**
   * Returns the messages that these bytes complete. Throws if the bytes are not valid server
   * frames.
   */
  read(bytes: Buffer): Message[] {
    this.#waiting.push(bytes);
    this.#size += bytes.length;
    const messages: Message[] = [];
    while (this.#size >= this.#needed) {
      const all = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
      const end = frameEnd(all);
      let rest = all;
      if (all.length >= end.end && end.isWhole) {
        const message = this.#frame(all[0] as number, all.subarray(end.start, end.end));
        if (message !== undefined) messages.push(message);
        rest = all.subarray(end.end);
        this.#needed = 2;
      } else {
        this.#needed = end.end;
      }
      this.#waiting.length = 0;
      this.#waiting.push(rest);
      this.#size = rest.length;
    }
    return messages;
  }

  #frame(first: number, data: Buffer): Message | undefined {
    const opcode = first & 0x0f;
    if (first & 0x70) throw new Error("an extension that was not agreed on");
    if (opcode >= CLOSE) return { opcode, data };
    if (opcode !== 0) {
      this.#opcode = opcode;
      this.#parts = [];
    }
    this.#parts.push(data);
    return first & 0x80 ? { opcode: this.#opcode, data: Buffer.concat(this.#parts) } : undefined;
  }
}

/**
 * Returns the start and the end of the first frame's content, or how many bytes are needed to know
 * them.
 */
function frameEnd(all: Buffer): { start: number; end: number; isWhole: boolean } {
  const second = all[1] as number;
  if (second & 0x80) throw new Error("a server does not mask");
  const start = second === 126 ? 4 : second === 127 ? 10 : 2;
  if (all.length < start) return { start, end: start, isWhole: false };
  const size = start === 2 ? second : start === 4 ? all.readUInt16BE(2) : Number(all.readBigUInt64BE(2));
  return { start, end: start + size, isWhole: true };
}
