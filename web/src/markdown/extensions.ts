// Markdown beyond GFM: formulas between $ or \( \), and footnotes.
import { Marked, type Tokens } from "marked";

export interface MathToken extends Tokens.Generic {
  type: "math";
  formula: string;
  isDisplay: boolean;
}

export interface NoteToken extends Tokens.Generic {
  type: "note" | "noteRef";
  name: string;
}

/** A display formula has no empty line: so a growing text can be read in pieces. */
const DISPLAY =
  /^(?:\$\$((?:[^$\n\\]|\\[^\n]|\n(?![ \t]*\n)|\$(?!\$))+?)\$\$|\\\[((?:[^\n]|\n(?![ \t]*\n))+?)\\\])/;
const DISPLAY_LINE = new RegExp(`${DISPLAY.source}[ \\t]*(?:\\n|$)`);
/**
 * As in Pandoc, so that prices are not formulas: no space after the first dollar sign and before the
 * second one, and no digit behind that.
 */
const INLINE = /^\$(?![\s$])((?:\\[^\n]|[^$\n\\])+?)(?<!\s)\$(?!\d)/;
const PARENTHESES = /^\\\(((?:[^\n]|\n(?![ \t]*\n))+?)\\\)/;
/** Longer formulas stay text. */
const LONGEST = 5_000;

const NOTE = /^\[\^([^\]\s]{1,64})\]:[ \t]+([^\n]+(?:\n(?![ \t]*\n|\[\^)[ \t]+[^\n]+)*)(?:\n|$)/;
const NOTE_REF = /^\[\^([^\]\s]{1,64})\]/;

function formulaIn(found: RegExpExecArray | null, isDisplay: boolean): MathToken | undefined {
  const formula = (found?.[1] ?? found?.[2])?.trim();
  if (!found || !formula || formula.length > LONGEST) return undefined;
  return { type: "math", raw: found[0], formula, isDisplay };
}

function startOf(pattern: RegExp) {
  return (source: string) => {
    const at = source.search(pattern);
    return at < 0 ? undefined : at;
  };
}

const { defaults } = new Marked({
  extensions: [
    {
      name: "math",
      level: "block",
      start: startOf(/^(?:\$\$|\\\[)/m),
      tokenizer: (source) => formulaIn(DISPLAY_LINE.exec(source), true),
    },
    {
      name: "mathInline",
      level: "inline",
      start: startOf(/\$|\\[([]/),
      tokenizer: (source) =>
        formulaIn(DISPLAY.exec(source), true) ??
        formulaIn(INLINE.exec(source), false) ??
        formulaIn(PARENTHESES.exec(source), false),
    },
    {
      name: "note",
      level: "block",
      start: startOf(/^\[\^/m),
      tokenizer(source) {
        const found = NOTE.exec(source);
        if (!found) return undefined;
        const [raw, name = "", text = ""] = found;
        return { type: "note", raw, name, tokens: this.lexer.inline(text.replace(/\n[ \t]+/g, "\n")) };
      },
    },
    {
      name: "noteRef",
      level: "inline",
      start: startOf(/\[\^/),
      tokenizer(source) {
        const found = NOTE_REF.exec(source);
        return found ? { type: "noteRef", raw: found[0], name: found[1] ?? "" } : undefined;
      },
    },
  ],
});

export const EXTENSIONS = defaults.extensions ?? null;
