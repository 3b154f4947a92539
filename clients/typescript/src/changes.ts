// The stream of changes of a server: GET /api/changes.
import type { Http } from "./http.js";

/** Milliseconds before a retry: the first and the maximum. */
const AGAIN = { first: 1_000, most: 30_000 };

/** A message to the other tabs: a page has changed something itself. */
const OWN = "own";

/**
 * Reads the stream while it has listeners, and calls them when any conversation has changed.
 *
 * A browser has few connections to one server. So one tab reads the stream, and tells the other tabs
 * of the same origin. Without locks, as in a page without TLS, each tab reads for itself.
 */
export class Changes {
  readonly #listeners = new Set<() => void>();
  #running: AbortController | undefined;
  #channel: BroadcastChannel | undefined;
  #wake: (() => void) | undefined;

  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /**
   * Calls `listener` after each change, when the stream begins or ends, and when the person comes
   * back to the page.
   */
  readonly subscribe = (listener: () => void): (() => void) => {
    const told = () => listener(); // each subscription is separate
    this.#listeners.add(told);
    if (!this.#running) this.#start();
    return () => {
      this.#listeners.delete(told);
      if (this.#listeners.size) return;
      this.#running?.abort();
      this.#running = undefined;
    };
  };

  /** Notifies all listeners, also in other tabs, of a change that this page has made. */
  readonly tell = (): void => {
    this.#channel?.postMessage(OWN);
    this.#wake?.(); // the change may be that the person has signed in
    this.#tellHere();
  };

  #start(): void {
    const running = new AbortController();
    const { signal } = running;
    this.#running = running;
    const { url, credentials } = this.#http;
    const isPage = typeof document !== "undefined";
    if (isPage) {
      document.addEventListener("visibilitychange", () => document.hidden || this.#tellHere(), { signal });
      addEventListener("online", this.tell, { signal });
    }
    // Tabs with tokens may belong to different users.
    const isShared = isPage && !credentials.token && !credentials.ticket;
    if (!isShared) return void this.#read(signal);
    const name = `turnwire:changes:${url}`;
    const channel = new BroadcastChannel(name);
    channel.onmessage = ({ data }) => {
      if (data === OWN) this.#wake?.();
      this.#tellHere();
    };
    this.#channel = channel;
    signal.addEventListener("abort", () => {
      channel.close();
      this.#channel = undefined;
    });
    const reading = () => this.#read(signal);
    const { locks } = navigator;
    // The request is rejected if no listener is left before the lock is free.
    if (locks) locks.request(name, { signal }, reading).catch(() => {});
    else void reading();
  }

  /** Reads the stream again and again: the server ends it after some minutes. */
  async #read(signal: AbortSignal): Promise<void> {
    let pause = AGAIN.first;
    while (!signal.aborted) {
      try {
        const { url, headers } = this.#http;
        // An EventSource cannot send headers.
        const answer = await fetch(`${url}/api/changes`, { headers, signal, cache: "no-store" });
        if (answer.ok && answer.body) {
          pause = AGAIN.first;
          await this.#events(answer.body);
        } else await answer.body?.cancel();
      } catch {
        // The connection is broken, or no listener is left.
      }
      if (signal.aborted) return;
      this.#tellAll(); // the listeners ask the server, and learn why the stream has ended
      await this.#pause(pause, signal);
      pause = Math.min(pause * 2, AGAIN.most);
    }
  }

  /** Only the arrival of an event matters; comments are heartbeats. */
  async #events(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      if (lines.some((line) => line.startsWith("data:"))) this.#tellAll();
    }
  }

  /** Waits before a retry, until `tell` is called. */
  #pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((later) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        this.#wake = undefined;
        later();
      };
      const timer = setTimeout(end, milliseconds);
      signal.addEventListener("abort", end);
      this.#wake = end;
    });
  }

  #tellAll(): void {
    this.#channel?.postMessage("changed");
    this.#tellHere();
  }

  #tellHere(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}
