// A set of the most recent names, with a size limit.

export class RecentNames {
  readonly #names = new Set<string>();

  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Adds a name. Returns whether it is new. */
  isNew(name: string): boolean {
    if (this.#names.has(name)) return false;
    this.#names.add(name);
    if (this.#names.size > this.#limit) {
      for (const oldest of this.#names) {
        this.#names.delete(oldest);
        break;
      }
    }
    return true;
  }
}
