// The address and the credentials of a WebSocket (docs/explanation/security.md).
import type { Http } from "../http.js";
import { pageKey } from "../page_key.js";
import type { Opening } from "./reconnecting_socket.js";
import type { Transport } from "./transport.js";

export type Query = Record<string, string | number | undefined>;

/**
 * Chooses the credentials in this order: a ticket of your own server; a token, in a header or,
 * without headers, exchanged for a ticket; the cookie, which the browser sends by itself, with the
 * page key.
 */
export async function openingFor(
  http: Http,
  transport: Transport,
  subprotocol: string,
  path: string,
  query: Query = {},
): Promise<Opening> {
  const { token, ticket } = http.credentials;
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) words.set(name, String(value));
  }
  const address = `${http.url.replace(/^http/, "ws")}${path}${words.size ? `?${words}` : ""}`;
  const needsTicket = ticket || (token && !transport.sendsHeaders);
  const key = token ? undefined : pageKey(http.url);
  const protocols = [subprotocol];
  if (needsTicket) protocols.push(`ticket.${await http.ticket()}`);
  else if (key) protocols.push(`page.${key}`);
  return { address, protocols, headers: needsTicket ? {} : http.headers };
}
