// The stream of changes of a server: GET /api/changes.
import type { Http } from "./http.js";

/** Milliseconds before a retry: the first and the maximum. */
const AGAIN = { first: 1_000, most: 30_000 };

/** Reads the stream while it has listeners, and calls them when any conversation has changed. */
export class Changes {
  readonly #listeners = new Set<() => void>();
  #running: AbortController | undefined;

  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Calls `listener` after each change, and when the stream begins or ends. */
  readonly subscribe = (listener: () => void): (() => void) => {
    const told = () => listener(); // each subscription is separate
    this.#listeners.add(told);
    if (!this.#running) {
      this.#running = new AbortController();
      void this.#read(this.#running.signal);
    }
    return () => {
      this.#listeners.delete(told);
      if (this.#listeners.size) return;
      this.#running?.abort();
      this.#running = undefined;
    };
  };

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
      this.#tell(); // the listeners ask the server, and learn why the stream has ended
      await wait(pause, signal);
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
      if (lines.some((line) => line.startsWith("data:"))) this.#tell();
    }
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

function wait(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((later) => {
    const timer = setTimeout(later, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      later();
    });
  });
}
