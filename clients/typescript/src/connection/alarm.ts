/** Runs a function at the earliest of the times that were asked for. */
export class Alarm {
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due = Number.POSITIVE_INFINITY;

  readonly #run: () => void;

  constructor(run: () => void) {
    this.#run = run;
  }

  /** Runs it within this number of milliseconds. */
  within(milliseconds: number): void {
    const due = Date.now() + milliseconds;
    if (due >= this.#due) return;
    this.cancel();
    this.#due = due;
    this.#timer = setTimeout(() => {
      this.cancel();
      this.#run();
    }, milliseconds);
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#due = Number.POSITIVE_INFINITY;
  }
}
