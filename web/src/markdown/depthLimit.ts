// Limits the depth of Markdown, because endless nesting would crash the page. Deeper text is plain.
import { Tokenizer } from "marked";

/** Maximum depth. */
export const MAX_DEPTH = 50;

/** Counts the depth of one text. */
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

  /**
   * Reads the content of an element. Returns undefined if it is too deep: then it is plain text.
   */
  private inside<T>(read: () => T): T | undefined {
    if (this.depth >= MAX_DEPTH) return undefined;
    this.depth += 1;
    try {
      return read();
    } finally {
      this.depth -= 1;
    }
  }
}
