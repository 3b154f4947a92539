// The list of conversations, kept up to date by the server's stream of changes.
import type { Changes } from "./changes.js";
import { Updates } from "./connection/updates.js";
import type { TurnwireError } from "./errors.js";
import type { ConversationInfo, Http } from "./http.js";
import { sameOr, share } from "./view/sharing.js";

export interface ConversationListSnapshot {
  /** The newest first. An unchanged conversation is the same object. */
  readonly conversations: readonly ConversationInfo[];
  /** Whether the server has answered at least once. */
  readonly isLoaded: boolean;
  /** Whether `loadMore` would find older ones. */
  readonly hasMore: boolean;
  /** The error of the last request to the server. */
  readonly error?: TurnwireError | undefined;
}

/** Conversations that are loaded at first, and with each `loadMore`. */
const PAGE = 50;
/** Milliseconds between two requests without a change: another process may write to the store. */
const EVERY = 30_000;
/** Milliseconds in which several changes cause one request. */
const TOGETHER = 100;

export class ConversationList {
  readonly #updates = new Updates(() => {});
  #last: ConversationListSnapshot = { conversations: [], isLoaded: false, hasMore: false };
  #wanted = PAGE;
  #holders = 0;
  #stop: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = Number.POSITIVE_INFINITY;
  #asked = 0;

  readonly #http: Http;
  readonly #changes: Changes;
  readonly #archived: boolean;

  constructor(http: Http, changes: Changes, archived = false) {
    this.#http = http;
    this.#changes = changes;
    this.#archived = archived;
  }

  /** Returns the same object until something has changed. */
  get snapshot(): ConversationListSnapshot {
    return this.#last;
  }

  /** Calls `listener` after each change. The list follows the server while it has listeners. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const stop = this.#updates.subscribe(listener);
    this.#holders += 1;
    if (this.#holders === 1) {
      this.#stop = this.#changes.subscribe(() => this.#ask(TOGETHER));
      void this.refresh();
    }
    return () => {
      stop();
      this.#holders -= 1;
      if (this.#holders) return;
      this.#stop?.();
      clearTimeout(this.#timer);
      this.#due = Number.POSITIVE_INFINITY;
    };
  };

  /** Asks the server now. */
  readonly refresh = async (): Promise<void> => {
    this.#asked += 1;
    const asked = this.#asked;
    let now: ConversationListSnapshot;
    try {
      const path = `/api/conversations?limit=${this.#wanted}&archived=${this.#archived}`;
      const told = await this.#http.request<{ conversations: ConversationInfo[] }>("GET", path);
      const { conversations } = told;
      now = { conversations, isLoaded: true, hasMore: conversations.length >= this.#wanted };
    } catch (error) {
      now = { ...this.#last, error: error as TurnwireError };
    }
    if (asked !== this.#asked) return; // a later request knows more
    this.#tell(now);
    if (this.#holders) this.#ask(EVERY);
  };

  /** Loads older conversations as well. */
  readonly loadMore = (): Promise<void> => {
    // The server answers with at most 500.
    this.#wanted = Math.min(this.#wanted + PAGE, 500);
    return this.refresh();
  };

  /** Asks the server within this time. */
  #ask(within: number): void {
    const due = Date.now() + within;
    if (due >= this.#due && this.#due > Date.now()) return;
    this.#due = due;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#due = Number.POSITIVE_INFINITY;
      void this.refresh();
    }, within);
  }

  #tell(now: ConversationListSnapshot): void {
    const last = this.#last;
    const known = new Map(last.conversations.map((each) => [each.id, each]));
    const made = now.conversations.map((each) => share(known.get(each.id), each));
    const conversations = sameOr(last.conversations, made);
    const next = { ...now, conversations };
    const isSame =
      next.isLoaded === last.isLoaded && next.hasMore === last.hasMore && next.error === last.error;
    if (conversations === last.conversations && isSame) return;
    this.#last = next;
    this.#updates.changed();
  }
}
