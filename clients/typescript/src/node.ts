// The entry point for Node.js: like index.ts, with a WebSocket that sends the token in a header.
import { BaseClient, type ClientOptions } from "./client.js";
import { nodeTransport } from "./node/transport.js";

export * from "./exports.js";

/** The client of one server: `http://127.0.0.1:7410`. */
export class Client extends BaseClient {
  constructor(url: string, options: ClientOptions = {}) {
    super(url, options, nodeTransport);
  }
}
