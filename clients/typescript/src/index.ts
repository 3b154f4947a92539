// For browsers, and for whatever else has a WebSocket. Node.js gets node.ts.
import { BaseClient, type ClientOptions } from "./client.js";
import { browserTransport } from "./line/transport.js";

export * from "./exports.js";

/** A server, and who comes to it. Without a `url` it is the server that the page came from. */
export class Client extends BaseClient {
  /** `url`: the server's address, or a path on the page's own host: `/chat`. */
  constructor(url: string = location.origin, options: ClientOptions = {}) {
    const page = globalThis.location?.origin;
    super(page && url.startsWith("/") ? page + url : url, options, browserTransport);
  }
}
