// The entry point for browsers and other runtimes with a WebSocket. Node.js uses node.ts.
import { BaseClient, type ClientOptions } from "./client.js";
import { browserTransport } from "./connection/transport.js";

export * from "./exports.js";

/** The client of one server. Without a `url` it is the server of the current page. */
export class Client extends BaseClient {
  /** `url`: the server's address, or a path on the page's own host: `/chat`. */
  constructor(url: string = location.origin, options: ClientOptions = {}) {
    const page = globalThis.location?.origin;
    super(page && url.startsWith("/") ? page + url : url, options, browserTransport);
  }
}
