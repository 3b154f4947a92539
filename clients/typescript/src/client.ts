// A server, and who comes to it.
import { type ConversationInfo, type Credentials, Http, type NewConversation } from "./http.js";
import { Inbox } from "./inbox.js";
import type { OpenTalks } from "./line/talk.js";
import type { Transport } from "./line/transport.js";
import { keepPageKey } from "./page_key.js";
import { type RpcOptions, RpcSession } from "./rpc/session.js";
import { Conversation, type ConversationOptions } from "./v2/conversation.js";

export type ClientOptions = Credentials;

/** Conversations that nobody looks at are kept, up to so many, so that coming back is quick. */
const KEPT = 20;

export class BaseClient {
  readonly http: Http;
  /** What waits for a person, in all conversations. */
  readonly inbox: Inbox;
  protected readonly transport: Transport;
  readonly #conversations = new Map<string, Conversation>();
  /** Those that are connected, or about to be. */
  readonly #open: OpenTalks = new Set();

  constructor(url: string, options: ClientOptions, transport: Transport) {
    this.http = new Http(url.replace(/\/+$/, ""), options);
    this.inbox = new Inbox(this.http);
    this.transport = transport;
  }

  /** One conversation: the same object for all who ask for it. It connects when it is used. */
  conversation(id: string, options?: ConversationOptions): Conversation {
    let found = this.#conversations.get(id);
    if (!found) {
      this.#forgetSome();
      found = new Conversation(id, this.http, this.transport, this.#open, options);
      this.#conversations.set(id, found);
    }
    return found;
  }

  /** One conversation over RPC. It connects when it is used, and is closed by `close`. */
  rpc(options?: RpcOptions): RpcSession {
    return new RpcSession(this.http, this.transport, this.#open, options);
  }

  /** Begins a conversation: its id. */
  async create(first: NewConversation = {}): Promise<string> {
    return (await this.http.request<ConversationInfo>("POST", "/api/conversations", first)).id;
  }

  /** Begins one with another's log, up to and with an entry; without it, as far as that is whole: its id. */
  async fork(id: string, atSequence?: number): Promise<string> {
    const path = `/api/conversations/${encodeURIComponent(id)}/fork`;
    return (await this.http.request<ConversationInfo>("POST", path, { at_sequence: atSequence })).id;
  }

  /** The newest conversations first. */
  async list(limit = 50, offset = 0): Promise<ConversationInfo[]> {
    const path = `/api/conversations?limit=${limit}&offset=${offset}`;
    return (await this.http.request<{ conversations: ConversationInfo[] }>("GET", path)).conversations;
  }

  /** Anything else of the HTTP interface: its JSON. Rejects with Refused. */
  request<T>(method: string, path: string, body?: unknown): Promise<T> {
    return this.http.request<T>(method, path, body);
  }

  /** Exchanges a link, once, for a cookie and a page key, which the browser keeps. Rejects with Refused. */
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
