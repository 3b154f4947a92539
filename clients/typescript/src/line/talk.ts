// What following a conversation is, whatever is spoken on the line: looking, waiting, being there.
import { Closed } from "../errors.js";
import type { ErrorPayload, View } from "../generated/types.js";
import type { Http } from "../http.js";
import { readJson } from "../lenient.js";
import { Line, type Opening } from "./line.js";
import { openingOf, type Query } from "./opening.js";
import type { Transport } from "./transport.js";
import { Updates } from "./updates.js";

/** What a front end shows. It is made anew once per frame, and only where something has changed. */
export interface TalkSnapshot {
  readonly view: View;
  /** `catching_up`: the server tells what was missed; `connected`: the line holds, and all of it is here. */
  readonly connection: "idle" | "connecting" | "catching_up" | "connected" | "closed";
  /** Why it was closed for good. */
  readonly error?: Closed | undefined;
}

/** What was asked, and not answered yet. */
export interface Waiting {
  accept(answer: never): void;
  refuse(error: Error): void;
}

/** What has a line, or is about to: whoever ends everything ends these. */
export type OpenTalks = Set<{ close(): void }>;

/** For so long a conversation that nobody looks at stays connected: pages come and go. */
const LINGER = 1_000;

export abstract class Talk<S extends TalkSnapshot, W extends Waiting> {
  protected readonly line: Line;
  /** By the id that its answer will have. */
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
  /** Those who wait until the view is as it should be. */
  #waiters = 0;
  /** Somebody has looked at it not long ago. Else it is closed as soon as nothing waits for its answer. */
  #isWanted = true;

  /** Where a WebSocket is opened, and as whom. */
  protected readonly openingAt: (subprotocol: string, path: string, query?: Query) => Promise<Opening>;

  readonly #open: OpenTalks;

  constructor(http: Http, transport: Transport, open: OpenTalks) {
    this.#open = open;
    this.openingAt = (...where) => openingOf(http, transport, ...where);
    this.line = new Line(transport, {
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

  /** Where to connect to. */
  protected abstract opening(): Promise<Opening>;
  /** The line is open. */
  protected abstract begin(): void;
  /** A frame came. */
  protected abstract hear(value: unknown): void;
  /** Says something that has an answer. */
  protected abstract beat(): void;
  /** What is to be seen now. */
  protected abstract look(): S;

  /** What was not answered never will be. */
  protected rejectAll(error: Closed): void {
    for (const { refuse } of this.waiting.values()) refuse(error);
    this.waiting.clear();
  }

  // --- looking --------------------------------------------------------------------------------------

  /** What a front end shows: the same object until the next update. */
  get snapshot(): S {
    this.#last ??= this.look();
    return this.#last;
  }

  /** What a person would see now, between two updates too. */
  abstract view(): View;

  /** Calls `listener` after each update, at most once per animation frame. */
  readonly subscribe = (listener: () => void): (() => void) => this.#updates.subscribe(listener);

  /** Waits until the view is as it should be. Rejects with Closed. */
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

  // --- being there ------------------------------------------------------------------------------------

  /** Connects, and stays connected until `close`. Whoever asks or waits connects too. */
  open(): this {
    this.#isPinned = true;
    this.connect();
    return this;
  }

  /** Disconnects. What was not answered is rejected; it may or may not have been heard. */
  close(): void {
    this.#isPinned = false;
    this.line.close();
    this.rejectAll(closedHere());
    this.closedBy = undefined;
    this.setConnection("idle");
  }

  /** Stays connected as long as somebody holds it. Returns how to let go. */
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

  /** Whether nobody is connected or about to be. */
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

  /** There is something to tell. */
  protected changed(): void {
    this.#updates.changed();
  }

  /** An error that answers nothing: the connection may be about to end. */
  protected note(error: Partial<ErrorPayload> | undefined): void {
    this.#lastError = error;
    const wait = error?.data?.retry_after;
    if (error?.code === "RATE_LIMITED" && typeof wait === "number") this.line.waitAtLeast(wait);
  }

  /** It has ended for good. */
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
