// WebSocket frames as bytes, and the rules for reconnecting.
import { describe, expect, test } from "vitest";
import { mayReconnect, nextPause } from "../src/connection/reconnecting_socket.js";
import { FrameReader, frameOf, TEXT } from "../src/node/frames.js";

/** Returns the bytes of a server's frame. */
function fromServer(opcode: number, data: Buffer, isLast = true): Buffer {
  const size = data.length;
  const head = Buffer.alloc(size < 126 ? 2 : size < 65536 ? 4 : 10);
  head[0] = (isLast ? 0x80 : 0) | opcode;
  head[1] = size < 126 ? size : size < 65536 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(size, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(size), 2);
  return Buffer.concat([head, data]);
}

/** Reads the bytes of a client's frame. */
function unmasked(frame: Buffer): { opcode: number; data: Buffer } {
  const size = (frame[1] as number) & 0x7f;
  const start = size === 126 ? 4 : size === 127 ? 10 : 2;
  const mask = frame.subarray(start, start + 4);
  const data = frame.subarray(start + 4).map((byte, at) => byte ^ (mask[at & 3] as number));
  return { opcode: (frame[0] as number) & 0x0f, data: Buffer.from(data) };
}

describe("WebSocket frames", () => {
  test.each([0, 1, 125, 126, 65535, 65536, 200_000])(
    "of %i bytes go out masked and come in whole",
    (size) => {
      const data = Buffer.alloc(size, "Grüße ");
      const sent = frameOf(TEXT, data);
      expect((sent[1] as number) & 0x80).toBe(0x80);
      const [read] = new FrameReader().read(fromServer(TEXT, data));
      for (const message of [unmasked(sent), read]) {
        expect(message?.opcode).toBe(TEXT);
        expect(message?.data.equals(data)).toBe(true);
      }
    },
  );

  test("are read from any pieces of their bytes", () => {
    const texts = ["", "a", "x".repeat(130), "y".repeat(70_000), "end"];
    const bytes = Buffer.concat(texts.map((text) => fromServer(TEXT, Buffer.from(text))));
    for (const size of [1, 2, 3, 7, 4096, 65536, bytes.length]) {
      const reader = new FrameReader();
      const read: string[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        for (const { data } of reader.read(bytes.subarray(at, at + size))) read.push(data.toString());
      }
      expect(read).toEqual(texts);
    }
  });

  test("can be parts of a message, with a ping in between", () => {
    const parts = [
      fromServer(TEXT, Buffer.from("one "), false),
      fromServer(9, Buffer.from("ping")),
      fromServer(0, Buffer.from("message"), true),
    ];
    const read = new FrameReader().read(Buffer.concat(parts));
    expect(read.map(({ opcode, data }) => [opcode, data.toString()])).toEqual([
      [9, "ping"],
      [TEXT, "one message"],
    ]);
  });

  test("that are invalid are refused", () => {
    expect(() => new FrameReader().read(frameOf(TEXT, Buffer.from("masked")))).toThrow("mask");
    expect(() => new FrameReader().read(Buffer.of(0xc1, 0))).toThrow("extension");
  });
});

describe("reconnecting", () => {
  test("is immediate after a stable connection, otherwise delayed, up to half a minute", () => {
    const pauses = [0];
    while (pauses.length < 9) pauses.push(nextPause(pauses.at(-1) as number, false));
    expect(pauses).toEqual([0, 500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]);
    expect(nextPause(30_000, true)).toBe(0);
  });

  test("is not tried if it cannot help", () => {
    expect([1000, 1006, 4000, 4499, 5000].every(mayReconnect)).toBe(true);
    expect([4500, 4502, 4999].some(mayReconnect)).toBe(false);
  });
});
