// The inbox: the open requests of all conversations.

import { Updates } from "./connection/updates.js";
import type { TurnwireError } from "./errors.js";
import type { Accepted, PermissionChoice, QuestionAnswer } from "./generated/types.js";
import type { Http, InboxItem } from "./http.js";
import { newId } from "./ids.js";
import { share } from "./view/sharing.js";

export interface InboxSnapshot {
  /** The oldest first. */
  readonly items: readonly InboxItem[];
  /** Whether the server has answered at least once. */
  readonly isLoaded: boolean;
  /** The error of the last request to the server. */
  readonly error?: TurnwireError | undefined;
}

/** Milliseconds between two requests to the server. */
const EVERY = 5_000;
/** The same while a stream of changes causes requests as well. */
const LIVE = 30_000;

export class Inbox {
  readonly #updates = new Updates(() => {});
  #last: InboxSnapshot = { items: [], isLoaded: false };
  #holders = 0;
  #live = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asking: Promise<void> | undefined;
  #again: Promise<void> | undefined;

  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Returns the same object until something has changed. */
  get snapshot(): InboxSnapshot {
    return this.#last;
  }

  /**
   * Calls `listener` after each change. The inbox polls the server while it has listeners. It polls
   * less often if one of them is `live`: that listener calls `refresh` after each change.
   */
  readonly subscribe = (listener: () => void, live = 0): (() => void) => {
    const stop = this.#updates.subscribe(listener);
    this.#live += live;
    this.#holders += 1;
    if (this.#holders === 1) void this.refresh();
    return () => {
      stop();
      this.#live -= live;
      this.#holders -= 1;
      if (this.#holders === 0) clearTimeout(this.#timer);
    };
  };

  /**
   * Asks the server now. If a request is running, repeats it: its answer may be older than the
   * change.
   */
  readonly refresh = (): Promise<void> => {
    clearTimeout(this.#timer);
    if (this.#asking) {
      this.#again ??= this.#asking.then(this.refresh);
      return this.#again;
    }
    this.#again = undefined;
    this.#asking = this.#ask().finally(() => {
      this.#asking = undefined;
      if (this.#holders) this.#timer = setTimeout(this.refresh, this.#live ? LIVE : EVERY);
    });
    return this.#asking;
  };

  /** Answers a question. Rejects with Refused. */
  readonly answer = (item: InboxItem, answer: QuestionAnswer["answer"]): Promise<Accepted> =>
    this.#reply(item, { answer });

  /** Allows or denies a tool call. Rejects with Refused. */
  readonly decide = (
    item: InboxItem,
    decision: PermissionChoice["decision"],
    more: Omit<PermissionChoice, "request_id" | "decision"> = {},
  ): Promise<Accepted> => this.#reply(item, { ...more, decision });

  async #reply(item: InboxItem, answer: object): Promise<Accepted> {
    const path = `/api/inbox/${encodeURIComponent(item.inbox_item_id)}/answer`;
    try {
      return await this.#http.request("POST", path, { ...answer, client_message_id: newId() });
    } finally {
      void this.refresh(); // also if another client has answered first
    }
  }

  async #ask(): Promise<void> {
    try {
      const { items } = await this.#http.request<{ items: InboxItem[] }>("GET", "/api/inbox");
      this.#tell({ items, isLoaded: true });
    } catch (error) {
      this.#tell({ ...this.#last, error: error as TurnwireError });
    }
  }

  #tell(now: InboxSnapshot): void {
    const last = this.#last;
    const items = share(last.items, now.items);
    if (items === last.items && now.isLoaded === last.isLoaded && now.error === last.error) return;
    this.#last = { ...now, items };
    this.#updates.changed();
  }
}
