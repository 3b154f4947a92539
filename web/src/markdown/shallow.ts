// Markdown that is nested without end would take the page with it: from some depth on it is only words.
import { Tokenizer } from "marked";

/** Nobody reads deeper. */
export const DEEPEST = 50;

/** One for each text: it counts how deep it is. */
export class ShallowTokenizer extends Tokenizer {
  private depth = 0;

  override blockquote(source: string) {
    return this.inside(() => super.blockquote(source));
  }

  override list(source: string) {
    return this.inside(() => super.list(source));
  }

  override link(source: string) {
    return this.inside(() => super.link(source));
  }

  override reflink(...given: Parameters<Tokenizer["reflink"]>) {
    return this.inside(() => super.reflink(...given));
  }

  override emStrong(...given: Parameters<Tokenizer["emStrong"]>) {
    return this.inside(() => super.emStrong(...given));
  }

  override del(...given: Parameters<Tokenizer["del"]>) {
    return this.inside(() => super.del(...given));
  }

  /** What is in it is read before it is done. Too deep, it is nothing of the kind. */
  private inside<T>(read: () => T): T | undefined {
    if (this.depth >= DEEPEST) return undefined;
    this.depth += 1;
    try {
      return read();
    } finally {
      this.depth -= 1;
    }
  }
}
