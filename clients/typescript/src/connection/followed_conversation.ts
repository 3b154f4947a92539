// The base of a followed conversation, for both protocols: snapshots, waiting, connecting.
import { Closed } from "../errors.js";
import type { ErrorPayload, View } from "../generated/types.js";
import type { Http } from "../http.js";
import { readJson } from "../lenient.js";
import { openingFor, type Query } from "./credentials.js";
import { type Opening, ReconnectingSocket } from "./reconnecting_socket.js";
import type { Transport } from "./transport.js";
import { Updates } from "./updates.js";

/** The data for a front end. Updated at most once per frame, and only after a change. */
export interface FollowedSnapshot {
  readonly view: View;
  /**
   * `catching_up`: the server replays missed entries; `connected`: live, and nothing is missing.
   */
  readonly connection: "idle" | "connecting" | "catching_up" | "connected" | "closed";
  /** Why the connection has ended permanently. */
  readonly error?: Closed | undefined;
}

/** A command without an answer. */
export interface Waiting {
  accept(answer: never): void;
  refuse(error: Error): void;
}

/** The conversations that are connected or connecting; the client closes these. */
export type OpenConversations = Set<{ close(): void }>;

/** Milliseconds that an unused conversation stays connected, because pages change quickly. */
const LINGER = 1_000;

export abstract class FollowedConversation<S extends FollowedSnapshot, W extends Waiting> {
  protected readonly line: ReconnectingSocket;
  /** By the id that the answer will have. */
  protected readonly waiting = new Map<string, W>();
  protected connection: S["connection"] = "idle";
  protected closedBy: Closed | undefined;
  readonly #updates = new Updates(() => {
    this.#last = this.look();
  });
  #last: S | undefined;
  #lastError: Partial<ErrorPayload> | undefined;
  #isPinned = false;
  #holders = 0;
  /** The number of callers that wait in `until`. */
  #waiters = 0;
  /**
   * Whether the conversation is in use. If not, it closes as soon as no command waits for its
   * answer.
   */
  #isWanted = true;

  /** Returns the address and the credentials of a WebSocket. */
  protected readonly openingAt: (subprotocol: string, path: string, query?: Query) => Promise<Opening>;

  readonly #open: OpenConversations;

  constructor(http: Http, transport: Transport, open: OpenConversations) {
    this.#open = open;
    this.openingAt = (...where) => openingFor(http, transport, ...where);
    this.line = new ReconnectingSocket(transport, {
      opening: () => this.opening(),
      open: () => this.begin(),
      message: (text) => {
        this.hear(readJson(text));
        this.changed();
        this.#leave();
      },
      lost: () => this.setConnection("connecting"),
      closed: (code) => this.end(code),
      beat: () => this.beat(),
    });
  }

  /** Returns the address to connect to. */
  protected abstract opening(): Promise<Opening>;
  /** Called when the connection is open. */
  protected abstract begin(): void;
  /** Called for each frame. */
  protected abstract hear(value: unknown): void;
  /** Sends a command that has an answer. */
  protected abstract beat(): void;
  /** Returns a new snapshot. */
  protected abstract look(): S;

  /** Rejects all commands without an answer. */
  protected rejectAll(error: Closed): void {
    for (const { refuse } of this.waiting.values()) refuse(error);
    this.waiting.clear();
  }

  // --- the view -------------------------------------------------------------------------------------

  /** Returns the snapshot for a front end: the same object until the next update. */
  get snapshot(): S {
    this.#last ??= this.look();
    return this.#last;
  }

  /** Returns the current view, also between two updates. */
  abstract view(): View;

  /** Calls `listener` after each update, at most once per animation frame. */
  readonly subscribe = (listener: () => void): (() => void) => this.#updates.subscribe(listener);

  /** Waits until the view meets the condition. Rejects with Closed. */
  until(isSo: (view: View) => boolean): Promise<View> {
    this.connect();
    this.#updates.flush();
    return new Promise((resolve, reject) => {
      const look = () => {
        const { view, connection, error } = this.snapshot;
        try {
          if (isSo(view)) resolve(view);
          else if (connection === "closed" || connection === "idle") reject(error ?? closedHere());
          else return;
        } catch (failure) {
          reject(failure);
        }
        stop();
        this.#waiters -= 1;
        this.#leave();
      };
      const stop = this.subscribe(look);
      this.#waiters += 1;
      look();
    });
  }

  // --- connecting -------------------------------------------------------------------------------------

  /** Connects, and stays connected until `close`. Commands and `until` connect too. */
  open(): this {
    this.#isPinned = true;
    this.connect();
    return this;
  }

  /** Disconnects. Rejects commands without an answer; the server may have received them. */
  close(): void {
    this.#isPinned = false;
    this.line.close();
    this.rejectAll(closedHere());
    this.closedBy = undefined;
    this.setConnection("idle");
  }

  /** Stays connected while it is held. Returns a function that releases it. */
  hold(): () => void {
    this.#holders += 1;
    this.#isWanted = true;
    this.connect();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#holders -= 1;
      setTimeout(() => {
        this.#isWanted = this.#holders > 0;
        this.#leave();
      }, LINGER);
    };
  }

  #leave(): void {
    if (!this.#isWanted && !this.#isPinned && !this.waiting.size && !this.#waiters) this.close();
  }

  /** Whether it is not connected, not connecting, and not held. */
  get isIdle(): boolean {
    return this.#holders === 0 && (this.connection === "idle" || this.connection === "closed");
  }

  protected connect(): void {
    if (this.connection === "idle") {
      this.setConnection("connecting");
      this.line.open();
    }
  }

  protected setConnection(connection: S["connection"]): void {
    this.connection = connection;
    if (connection === "connecting") this.#open.add(this);
    else this.#open.delete(this);
    this.changed();
  }

  /** Schedules an update. */
  protected changed(): void {
    this.#updates.changed();
  }

  /** Notes an error that answers no command: the connection may be about to end. */
  protected note(error: Partial<ErrorPayload> | undefined): void {
    this.#lastError = error;
    const wait = error?.data?.retry_after;
    if (error?.code === "RATE_LIMITED" && typeof wait === "number") this.line.waitAtLeast(wait);
  }

  /** Ends the conversation permanently. */
  protected end(closeCode: number): void {
    const { code, message } = this.#lastError ?? {};
    const words = message ?? `The server closed it (${closeCode}).`;
    this.closedBy = new Closed(code ?? "CONVERSATION_CLOSED", words, closeCode);
    this.line.close();
    this.rejectAll(this.closedBy);
    this.setConnection("closed");
  }
}

function closedHere(): Closed {
  return new Closed("CLOSED", "Closed here.", 1000);
}
