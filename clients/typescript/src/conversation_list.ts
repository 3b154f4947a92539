// The list of conversations, kept up to date by the server's stream of changes.
import type { Changes } from "./changes.js";
import { Alarm } from "./connection/alarm.js";
import { Updates } from "./connection/updates.js";
import type { TurnwireError } from "./errors.js";
import type { ConversationInfo, Http } from "./http.js";
import { sameOr, share } from "./view/sharing.js";

/**
 * A group of conversations. `working`: the agent streams, a turn is open, or background work goes on.
 * `idle`: none of that.
 */
export type Activity = "waiting_input" | "working" | "idle" | "interrupted" | "error";

/** Which conversations a list has. */
export interface ListFilter {
  /** Those of the archive, instead of the others. */
  archived?: boolean | undefined;
  agent?: string | undefined;
  label?: string | undefined;
  activity?: Activity | undefined;
}

export interface ConversationListSnapshot {
  /** Pinned ones first, then the newest first. An unchanged conversation is the same object. */
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
/** The maximum that the server answers with. */
const AT_ONCE = 500;
/** Milliseconds between two requests without a change: another process may write to the store. */
const EVERY = 30_000;
/** Milliseconds in which several changes cause one request. */
export const TOGETHER = 100;

export class ConversationList {
  readonly #updates = new Updates(() => {});
  readonly #alarm = new Alarm(() => void this.refresh());
  #last: ConversationListSnapshot = { conversations: [], isLoaded: false, hasMore: false };
  #wanted = PAGE;
  #holders = 0;
  #stop: (() => void) | undefined;
  #asked = 0;

  readonly #http: Http;
  readonly #changes: Changes;
  readonly #query: string;

  /** `query`: the result of `queryOf`. */
  constructor(http: Http, changes: Changes, query: string) {
    this.#http = http;
    this.#changes = changes;
    this.#query = query;
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
      this.#stop = this.#changes.subscribe(() => this.#alarm.within(TOGETHER));
      void this.refresh();
    }
    return () => {
      stop();
      this.#holders -= 1;
      if (this.#holders) return;
      this.#stop?.();
      this.#alarm.cancel();
    };
  };

  /** Asks the server now. */
  readonly refresh = async (): Promise<void> => {
    this.#asked += 1;
    const asked = this.#asked;
    const wanted = this.#wanted;
    let now: ConversationListSnapshot;
    try {
      const conversations = await this.#fetch(wanted);
      now = { conversations, isLoaded: true, hasMore: conversations.length >= wanted };
    } catch (error) {
      now = { ...this.#last, error: error as TurnwireError };
    }
    if (asked !== this.#asked) return; // a later request knows more
    this.#tell(now);
    if (this.#holders) this.#alarm.within(EVERY);
  };

  /** Loads older conversations as well. */
  readonly loadMore = (): Promise<void> => {
    this.#wanted += PAGE;
    return this.refresh();
  };

  /** Returns at least the newest `wanted` conversations and all pinned ones, in several requests if needed. */
  async #fetch(wanted: number): Promise<ConversationInfo[]> {
    const all = new Map<string, ConversationInfo>(); // a conversation may move between two requests
    const add = async (query: string) => {
      const path = `/api/conversations?${query}&${this.#query}`;
      const told = await this.#http.request<{ conversations: ConversationInfo[] }>("GET", path);
      for (const each of told.conversations) if (!all.has(each.id)) all.set(each.id, each);
      return told.conversations.length;
    };
    for (let offset = 0; offset < wanted; offset += AT_ONCE) {
      const limit = Math.min(AT_ONCE, wanted - offset);
      if ((await add(`limit=${limit}&offset=${offset}`)) < limit) break;
    }
    // A pinned conversation may be older than all of these.
    if (all.size >= wanted) await add(`limit=${AT_ONCE}&pinned=true`);
    return [...all.values()].sort(
      (one, other) =>
        Number(other.pinned ?? false) - Number(one.pinned ?? false) ||
        Date.parse(other.updated_at) - Date.parse(one.updated_at),
    );
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

/** Returns the part of the request that chooses these conversations. */
export function queryOf({ archived = false, agent, label, activity }: ListFilter): string {
  const query = new URLSearchParams({ archived: String(archived) });
  if (agent !== undefined) query.set("agent", agent);
  if (label !== undefined) query.set("label", label);
  if (activity !== undefined) query.set("activity", activity);
  return String(query);
}
