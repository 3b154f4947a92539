// One update per animation frame, however much has come in between.

/** In a page that is not visible no frames are drawn; it is kept up to date all the same. */
const UNSEEN = 250;
/** Where there are no frames at all. */
const FRAME = 16;

/** Calls `run` once, when the next frame is drawn. */
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

/** Tells those who listen that something has changed. */
export class Updates {
  readonly #listeners = new Set<() => void>();
  #cancel: (() => void) | undefined;

  /** `refresh` is called before the listeners are, once for all of them. */
  readonly #refresh: () => void;

  constructor(refresh: () => void) {
    this.#refresh = refresh;
  }

  subscribe(listener: () => void): () => void {
    // Each is its own, also where the same function comes twice.
    const told = () => listener();
    this.#listeners.add(told);
    return () => this.#listeners.delete(told);
  }

  /** Something has changed: tell it with the next frame. */
  changed(): void {
    this.#cancel ??= nextFrame(() => this.flush());
  }

  /** Tell it now, if there is something to tell. */
  flush(): void {
    if (!this.#cancel) return;
    this.#cancel();
    this.#cancel = undefined;
    this.#refresh();
    for (const listener of [...this.#listeners]) {
      try {
        listener();
      } catch (error) {
        // The others are told all the same, and the error is not lost.
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }
}
