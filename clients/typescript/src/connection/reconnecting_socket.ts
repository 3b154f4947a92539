// A connection to the server that reconnects: one WebSocket after the other, until reconnecting
// cannot help. The rules for reconnecting are in docs/reference/protocol/v2.md, section 9.
import { Refused } from "../errors.js";
import type { Socket, Transport } from "./transport.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;
/** Milliseconds after which a connection counts as stable. */
const LASTED = 5_000;
/** Timeout of connecting in milliseconds. */
const PATIENCE = 15_000;

/** The parameters of one connection. */
export interface Opening {
  address: string;
  protocols: string[];
  headers: Record<string, string>;
}

export interface ReconnectingSocketEvents {
  /** Returns the address and the credentials of the next connection. */
  opening(): Promise<Opening>;
  open(): void;
  message(text: string): void;
  /** The connection was lost; the socket reconnects. */
  lost(): void;
  /** The socket has ended permanently. */
  closed(code: number): void;
  /** The server was silent for a while: send a command that has an answer. */
  beat(): void;
}

/** Whether reconnecting can help after this close code. */
export function mayReconnect(code: number): boolean {
  return code < 4500 || code > 4999;
}

/**
 * Returns the pause after one of this length: doubles it, or resets it after a stable connection.
 */
export function nextPause(last: number, lasted: boolean): number {
  return lasted ? 0 : Math.min(Math.max(last * 2, FIRST_PAUSE), LONGEST_PAUSE);
}

export class ReconnectingSocket {
  #socket: Socket | undefined;
  #isUp = false;
  #isWanted = false;
  /** Counts connections, so that late events of an old one are ignored. */
  #round = 0;
  #pause = 0;
  #least = 0;
  #beganAt = 0;
  #heardAt = 0;
  #silence = PATIENCE;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;

  readonly #transport: Transport;
  readonly #on: ReconnectingSocketEvents;

  constructor(transport: Transport, on: ReconnectingSocketEvents) {
    this.#transport = transport;
    this.#on = on;
  }

  /** Connects, and stays connected. */
  open(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    globalThis.addEventListener?.("online", this.#begin);
    this.#begin();
  }

  /** Disconnects. It can be opened again. */
  close(): void {
    if (!this.#isWanted) return;
    this.#isWanted = false;
    globalThis.removeEventListener?.("online", this.#begin);
    clearTimeout(this.#timer);
    this.#leave();
  }

  /** Reconnects from the cursor, because something is missing. */
  drop(): void {
    if (this.#socket) this.#left(this.#round, 1006);
  }

  /** Sends a frame. Drops it if the socket is not open: the caller resends it after reconnecting. */
  send(text: string): void {
    if (this.#isUp) this.#socket?.send(text);
  }

  /** Sets the interval in which the server sends at least one message. */
  expectEvery(seconds: number): void {
    this.#silence = seconds * 1000;
    clearInterval(this.#watch);
    this.#watch = setInterval(this.#listen, this.#silence);
  }

  /** Sets the minimum delay before the next attempt. */
  waitAtLeast(seconds: number): void {
    this.#least = seconds * 1000;
  }

  // --- connections ------------------------------------------------------------------------------------

  async #connect(): Promise<void> {
    const round = ++this.#round;
    this.#beganAt = this.#heardAt = Date.now();
    this.#silence = PATIENCE;
    let opening: Opening;
    try {
      opening = await this.#on.opening();
    } catch (error) {
      // A refused ticket will be refused again.
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

  /** Handles the end of a connection, or a failure to connect. */
  #left(round: number, code: number): void {
    if (round !== this.#round || !this.#isWanted) return;
    this.#leave();
    if (!mayReconnect(code)) {
      this.close();
      this.#on.closed(code);
      return;
    }
    this.#pause = nextPause(this.#pause, Date.now() - this.#beganAt > LASTED);
    // Adds jitter, so that the clients do not reconnect all at once.
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

  /**
   * Starts a new connection, also when the network is back: the old one may be dead without an
   * event.
   */
  readonly #begin = (): void => {
    this.drop();
    this.#pause = 0; // the network may need a moment
    clearTimeout(this.#timer);
    void this.#connect();
  };

  readonly #listen = (): void => {
    const silentFor = Date.now() - this.#heardAt;
    if (silentFor > 2.5 * this.#silence || !this.#isUp) this.drop();
    else if (silentFor >= this.#silence) this.#on.beat();
  };
}
