// The HTTP interface of a server: docs/reference/http.md.
import { Refused, TurnwireError } from "./errors.js";
import type { ErrorPayload, OpenRequest, Status } from "./generated/types.js";
import { object } from "./lenient.js";
import { pageHeaders } from "./page_key.js";

/** A conversation in the server's list. */
export interface ConversationInfo {
  id: string;
  agent: string;
  created_at: string;
  updated_at: string;
  /** The number of the newest entry of its log. */
  head: number;
  status: Status;
  title?: string;
  user?: string;
  cwd?: string;
  archived?: boolean;
  /** Whether a person keeps it at the top of the list. */
  pinned?: boolean;
  labels?: string[];
  /** The conversation and the last entry that this one was forked from. */
  forked_from?: { id: string; at_sequence: number };
}

/** The options of a new conversation. All are optional. */
export interface NewConversation {
  agent?: string;
  title?: string;
  cwd?: string;
  model?: string;
  permission_mode?: string;
  options?: Record<string, unknown>;
}

/** A question or a permission that waits for a person, in any conversation. */
export interface InboxItem {
  inbox_item_id: string;
  conversation_id: string;
  request: OpenRequest;
  created_at?: string;
}

export interface Credentials {
  /** The token that authenticates the user; spaces around it are ignored. Keep tokens out of pages that others write. */
  token?: string | undefined;
  /** For pages without a cookie: fetches a ticket from your own server, for each connection. */
  ticket?: (() => Promise<string>) | undefined;
}

/** Timeout of a request in milliseconds. */
const PATIENCE = 30_000;

export class Http {
  constructor(
    /** Without a slash at the end. */
    readonly url: string,
    readonly credentials: Credentials,
  ) {}

  /** The headers that authenticate the user, for transports that can send headers. */
  get headers(): Record<string, string> {
    const { token } = this.credentials;
    return token ? { Authorization: `Bearer ${token.trim()}` } : pageHeaders(this.url);
  }

  /** Calls a path of the interface and returns its JSON. Rejects with Refused or TurnwireError. */
  async request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = this.headers;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    let answer: Response;
    try {
      const signal = AbortSignal.timeout(PATIENCE);
      answer = await fetch(this.url + path, { method, headers, body: JSON.stringify(body) ?? null, signal });
    } catch (error) {
      throw new TurnwireError("UNREACHABLE", `${this.url} cannot be reached: ${error}`);
    }
    const told: unknown = await answer.json().catch(() => undefined);
    if (answer.ok) return told as T;
    const error: Partial<ErrorPayload> | undefined = object(object(told)?.error);
    const retryable = answer.status === 429 || answer.status >= 500;
    throw new Refused({ message: `The server answered ${answer.status}.`, retryable, ...error });
  }

  /** Returns a ticket, which opens one WebSocket within a minute. */
  async ticket(): Promise<string> {
    if (this.credentials.ticket) return this.credentials.ticket();
    return (await this.request<{ ticket: string }>("POST", "/api/tickets")).ticket;
  }
}
