// The client of one server: its conversations, its inbox and its HTTP interface.

import type { OpenConversations } from "./connection/followed_conversation.js";
import type { Transport } from "./connection/transport.js";
import { type ConversationInfo, type Credentials, Http, type NewConversation } from "./http.js";
import { Inbox } from "./inbox.js";
import { keepPageKey } from "./page_key.js";
import { type RpcOptions, RpcSession } from "./rpc/session.js";
import { Conversation, type ConversationOptions } from "./v2/conversation.js";

export type ClientOptions = Credentials;

/** Maximum number of unused conversations to keep in memory, so that reopening one is fast. */
const KEPT = 20;

export class BaseClient {
  readonly http: Http;
  /** The open requests of all conversations. */
  readonly inbox: Inbox;
  protected readonly transport: Transport;
  readonly #conversations = new Map<string, Conversation>();
  /** The conversations that are connected or connecting. */
  readonly #open: OpenConversations = new Set();

  constructor(url: string, options: ClientOptions, transport: Transport) {
    this.http = new Http(url.replace(/\/+$/, ""), options);
    this.inbox = new Inbox(this.http);
    this.transport = transport;
  }

  /** Returns the conversation with this id, always the same object. It connects on first use. */
  conversation(id: string, options?: ConversationOptions): Conversation {
    let found = this.#conversations.get(id);
    if (!found) {
      this.#forgetSome();
      found = new Conversation(id, this.http, this.transport, this.#open, options);
      this.#conversations.set(id, found);
    }
    return found;
  }

  /** Returns a conversation over RPC. It connects on first use; `close` disconnects it. */
  rpc(options?: RpcOptions): RpcSession {
    return new RpcSession(this.http, this.transport, this.#open, options);
  }

  /** Creates a conversation and returns its id. */
  async create(first: NewConversation = {}): Promise<string> {
    return (await this.http.request<ConversationInfo>("POST", "/api/conversations", first)).id;
  }

  /**
   * Forks a conversation up to and including an entry, by default the last complete one. Returns
   * the new id.
   */
  async fork(id: string, atSequence?: number): Promise<string> {
    const path = `/api/conversations/${encodeURIComponent(id)}/fork`;
    return (await this.http.request<ConversationInfo>("POST", path, { at_sequence: atSequence })).id;
  }

  /** Returns the conversations, the newest first. */
  async list(limit = 50, offset = 0): Promise<ConversationInfo[]> {
    const path = `/api/conversations?limit=${limit}&offset=${offset}`;
    return (await this.http.request<{ conversations: ConversationInfo[] }>("GET", path)).conversations;
  }

  /** Calls any other path of the HTTP interface and returns its JSON. Rejects with Refused. */
  request<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.http.request<T>(method, path, body);
  }

  /**
   * Exchanges a one-time link for a cookie and a page key, which the browser stores. Rejects with
   * Refused.
   */
  async enter(link: string): Promise<void> {
    const told = await this.http.request<{ page_key: string }>("POST", "/enter", { link });
    keepPageKey(this.http.url, told.page_key);
  }

  /** Closes every conversation. */
  close(): void {
    for (const talk of [...this.#open]) talk.close();
    this.#conversations.clear();
  }

  #forgetSome(): void {
    for (const [id, conversation] of this.#conversations) {
      if (this.#conversations.size < KEPT) return;
      if (conversation.isIdle) this.#conversations.delete(id);
    }
  }
}
