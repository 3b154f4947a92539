// A memory of what was seen last, which never grows beyond its limit.

export class Recent {
  readonly #names = new Set<string>();

  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Whether the name was not seen before. It is now. */
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
