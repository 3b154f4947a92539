// Batches changes: one update per animation frame.

/** Milliseconds between updates of a hidden page, which gets no animation frames. */
const UNSEEN = 250;
/** Milliseconds between updates in runtimes without animation frames. */
const FRAME = 16;

/** Calls `run` once, in the next animation frame. */
export function nextFrame(run: () => void): () => void {
  let frame = 0;
  const drawn = typeof requestAnimationFrame === "function";
  const timer = setTimeout(finish, drawn ? UNSEEN : FRAME);
  if (drawn) frame = requestAnimationFrame(finish);
  function cancel(): void {
    clearTimeout(timer);
    if (drawn) cancelAnimationFrame(frame);
  }
  function finish(): void {
    cancel();
    run();
  }
  return cancel;
}

/** Notifies listeners of changes. */
export class Updates {
  readonly #listeners = new Set<() => void>();
  #cancel: (() => void) | undefined;

  /** Called before the listeners, once for all of them. */
  readonly #refresh: () => void;

  constructor(refresh: () => void) {
    this.#refresh = refresh;
  }

  subscribe(listener: () => void): () => void {
    // Each subscription is separate, even if the same function subscribes twice.
    const told = () => listener();
    this.#listeners.add(told);
    return () => this.#listeners.delete(told);
  }

  /** Schedules a notification for the next frame. */
  changed(): void {
    this.#cancel ??= nextFrame(() => this.flush());
  }

  /** Notifies now, if a notification is scheduled. */
  flush(): void {
    if (!this.#cancel) return;
    this.#cancel();
    this.#cancel = undefined;
    this.#refresh();
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        // The other listeners are still called, and the error is reported.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
