// A line to the server: one WebSocket after the other, until connecting again cannot help any more.
// When to come back is told in docs/protocol/v2.md, section 9.
import { Refused } from "../errors.js";
import type { Socket, Transport } from "./transport.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
/** After so long, a connection counts as a good one. */
const LASTED = 5_000;
/** For so long, a connection may be on its way. */
const PATIENCE = 15_000;

/** What opens one connection. */
export interface Opening {
  address: string;
  protocols: string[];
  headers: Record<string, string>;
}

export interface LineEvents {
  /** Where to connect to, and as whom. */
  opening(): Promise<Opening>;
  open(): void;
  message(text: string): void;
  /** The connection was lost; another one follows. */
  lost(): void;
  /** It has ended for good. */
  closed(code: number): void;
  /** Nothing was heard for a while: say something that has an answer. */
  beat(): void;
}

/** Whether connecting again can help after this close code. */
export function mayReconnect(code: number): boolean {
  return code < 4500 || code > 4999;
}

/** The next pause after one of this length; a connection that lasted begins anew. */
export function nextPause(last: number, lasted: boolean): number {
  return lasted ? 0 : Math.min(Math.max(last * 2, FIRST_PAUSE), LONGEST_PAUSE);
}

export class Line {
  #socket: Socket | undefined;
  #isUp = false;
  #isWanted = false;
  /** Counts connections, so that a late word of an old one is not heard. */
  #round = 0;
  #pause = 0;
  #least = 0;
  #beganAt = 0;
  #heardAt = 0;
  #silence = PATIENCE;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;

  readonly #transport: Transport;
  readonly #on: LineEvents;

  constructor(transport: Transport, on: LineEvents) {
    this.#transport = transport;
    this.#on = on;
  }

  /** Connect, and stay connected. */
  open(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    globalThis.addEventListener?.("online", this.#begin);
    this.#begin();
  }

  /** End it. It can be opened again. */
  close(): void {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    globalThis.removeEventListener?.("online", this.#begin);
    clearTimeout(this.#timer);
    this.#leave();
  }

  /** Begin again from the last place, because something is missing. */
  drop(): void {
    if (this.#socket) this.#left(this.#round, 1006);
  }

  /** What is not sent because the line is not open is to be sent when it is open again. */
  send(text: string): void {
    if (this.#isUp) this.#socket?.send(text);
  }

  /** The server says something at least so often. */
  expectEvery(seconds: number): void {
    this.#silence = seconds * 1000;
    clearInterval(this.#watch);
    this.#watch = setInterval(this.#listen, this.#silence);
  }

  /** The next attempt has to wait at least so long. */
  waitAtLeast(seconds: number): void {
    this.#least = seconds * 1000;
  }

  // --- one connection after the other -----------------------------------------------------------------

  async #connect(): Promise<void> {
    const round = ++this.#round;
    this.#beganAt = this.#heardAt = Date.now();
    this.#silence = PATIENCE;
    let opening: Opening;
    try {
      opening = await this.#on.opening();
    } catch (error) {
      // Who was refused a ticket will be refused again.
      this.#left(round, error instanceof Refused && !error.retryable ? 4502 : 1006);
      return;
    }
    if (round !== this.#round || !this.#isWanted) return;
    const { address, protocols, headers } = opening;
    const isHeard = () => {
      this.#heardAt = Date.now();
      return round === this.#round;
    };
    this.#watch = setInterval(this.#listen, PATIENCE);
    this.#socket = this.#transport.open(address, protocols, headers, {
      open: () => {
        if (!isHeard()) return;
        this.#isUp = true;
        this.#on.open();
      },
      message: (text) => {
        if (isHeard()) this.#on.message(text);
      },
      close: (code) => this.#left(round, code),
    });
  }

  /** The connection has ended, or could not be made. */
  #left(round: number, code: number): void {
    if (round !== this.#round || !this.#isWanted) return;
    this.#leave();
    if (!mayReconnect(code)) {
      this.close();
      this.#on.closed(code);
      return;
    }
    this.#pause = nextPause(this.#pause, Date.now() - this.#beganAt > LASTED);
    // A random part more or less, so that not all clients come at once.
    const wait = Math.max(this.#pause * (0.5 + Math.random()), this.#least);
    this.#least = 0;
    this.#timer = setTimeout(() => void this.#connect(), wait);
    this.#on.lost();
  }

  #leave(): void {
    const socket = this.#socket;
    this.#round += 1;
    this.#socket = undefined;
    this.#isUp = false;
    clearInterval(this.#watch);
    socket?.end();
  }

  /** At first, and when the network is back: a connection of before may be dead, and would not say so. */
  readonly #begin = (): void => {
    this.drop();
    this.#pause = 0; // a network may need another moment
    clearTimeout(this.#timer);
    void this.#connect();
  };

  readonly #listen = (): void => {
    const silentFor = Date.now() - this.#heardAt;
    if (silentFor > 2.5 * this.#silence || !this.#isUp) this.drop();
    else if (silentFor >= this.#silence) this.#on.beat();
  };
}
