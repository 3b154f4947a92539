// Parses growing Markdown: only the last block is parsed again, however long the text is.
import { Lexer, type Token } from "marked";
import { ShallowTokenizer } from "./depthLimit";
import { EXTENSIONS } from "./extensions";

/** A link definition may change earlier blocks. */
const DEFINES = /^ {0,3}\[[^\]\n]+\]:/m;

export class GrowingMarkdown {
  private done: Token[] = [];
  private doneTo = 0;
  private doneText = "";
  private last: { text: string; tokens: Token[] } = { text: "", tokens: [] };

  /** Returns the blocks of this text. Finished blocks are the same objects as before. */
  parse(given: string): Token[] {
    const text = given.includes("\r") ? given.replace(/\r\n?/g, "\n") : given;
    if (text === this.last.text) return this.last.tokens;
    if (!text.startsWith(this.doneText)) this.forget();
    const rest = Lexer.lex(text.slice(this.doneTo), {
      gfm: true,
      extensions: EXTENSIONS,
      tokenizer: new ShallowTokenizer(),
    });
    const tokens = [...this.done, ...rest];
    if (!DEFINES.test(text.slice(this.doneTo))) this.finish(text, rest);
    else this.forget();
    this.last = { text, tokens };
    return tokens;
  }

  /** Keeps all blocks but the last one, and the space around it: they will not change any more. */
  private finish(text: string, rest: Token[]): void {
    let open = rest.length - 1;
    while (open > 0 && rest[open]?.type === "space") open -= 1;
    for (const token of rest.slice(0, open)) {
      this.done.push(token);
      this.doneTo += token.raw.length;
    }
    this.doneText = text.slice(0, this.doneTo);
  }

  private forget(): void {
    this.done = [];
    this.doneTo = 0;
    this.doneText = "";
  }
}
