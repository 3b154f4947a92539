// A WebSocket for Node.js: version 20 has none, and later versions have no standard way to send
// headers. Supports what a connection needs: text messages, pings and close codes.
import { createHash, randomBytes } from "node:crypto";
import { request as plain } from "node:http";
import { request as secure } from "node:https";
import type { Duplex } from "node:stream";
import type { SocketEvents, Transport } from "../connection/transport.js";
import { CLOSE, FrameReader, frameOf, type Message, PING, PONG, TEXT } from "./frames.js";

/** RFC 6455, section 1.3: proves that the server understood the upgrade. */
const PROOF = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

const BROKEN = 1006;
const NO_CODE = 1005;
const GOODBYE = Buffer.of(0x03, 0xe8); // 1000

/** Milliseconds to wait for the server's close frame. */
const PATIENCE = 2_000;

export const nodeTransport: Transport = {
  sendsHeaders: true,
  open(address, protocols, headers, on) {
    const connection = new Connection(on);
    connection.dial(address, protocols, headers);
    return connection;
  },
};

class Connection {
  #stream: Duplex | undefined;
  readonly #reader = new FrameReader();
  #code = BROKEN;
  #saidGoodbye = false;
  #isOver = false;
  #abort: (() => void) | undefined;

  readonly #on: SocketEvents;

  constructor(on: SocketEvents) {
    this.#on = on;
  }

  dial(address: string, protocols: string[], more: Record<string, string>): void {
    const url = new URL(address.replace(/^ws/, "http"));
    const key = randomBytes(16).toString("base64");
    const headers: Record<string, string> = {
      ...more,
      Connection: "Upgrade",
      Upgrade: "websocket",
      "Sec-WebSocket-Version": "13",
      "Sec-WebSocket-Key": key,
    };
    if (protocols.length) headers["Sec-WebSocket-Protocol"] = protocols.join(", ");
    const request = (url.protocol === "https:" ? secure : plain)(url, { headers });
    this.#abort = () => request.destroy();
    request.on("error", () => this.#over());
    request.on("response", () => request.destroy()); // the server did not upgrade
    request.on("upgrade", (answer, stream, first) => {
      const proof = createHash("sha1")
        .update(key + PROOF)
        .digest("base64");
      if (answer.headers["sec-websocket-accept"] !== proof) {
        request.destroy();
        return;
      }
      this.#begin(stream, first);
    });
    request.on("close", () => {
      if (this.#stream === undefined) this.#over();
    });
    request.end();
  }

  send(text: string): void {
    this.#write(TEXT, Buffer.from(text));
  }

  end(): void {
    if (this.#stream === undefined) {
      this.#abort?.();
      return;
    }
    this.#sayGoodbye(GOODBYE);
    setTimeout(() => this.#stream?.destroy(), PATIENCE).unref();
  }

  #begin(stream: Duplex, first: Buffer): void {
    this.#stream = stream;
    stream.on("error", () => stream.destroy());
    stream.on("close", () => this.#over());
    stream.on("end", () => stream.destroy());
    stream.on("data", (bytes: Buffer) => this.#hear(bytes));
    this.#on.open();
    if (first.length) this.#hear(first);
  }

  #hear(bytes: Buffer): void {
    let messages: Message[];
    try {
      messages = this.#reader.read(bytes);
    } catch {
      this.#stream?.destroy();
      return;
    }
    for (const { opcode, data } of messages) {
      if (opcode === TEXT) this.#on.message(data.toString());
      else if (opcode === PING) this.#write(PONG, data);
      else if (opcode === CLOSE) this.#goodbye(data);
    }
  }

  #goodbye(data: Buffer): void {
    this.#code = data.length >= 2 ? data.readUInt16BE(0) : NO_CODE;
    this.#sayGoodbye(data);
    this.#stream?.end();
  }

  #sayGoodbye(data: Buffer): void {
    if (this.#saidGoodbye) return;
    this.#saidGoodbye = true;
    this.#write(CLOSE, data);
  }

  #write(opcode: number, data: Buffer): void {
    if (this.#stream?.writable) this.#stream.write(frameOf(opcode, data));
  }

  #over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#on.close(this.#code);
  }
}
