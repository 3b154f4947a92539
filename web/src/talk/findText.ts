// Finds text in the loaded rows of a conversation, also in rows that are not in the document.
import type { BlockView, ToolView } from "@turnwire/client";
import type { Token, Tokens } from "marked";
import type { NameOf } from "../app/me";
import { decodeEntities } from "../markdown/entities";
import { GrowingMarkdown } from "../markdown/growingMarkdown";
import { MOST } from "../markdown/Markdown";
import { answerParts, markupParts } from "../tools/agentMarkup";
import { aboutOf, hasFields, showsResult } from "../tools/ToolCard";
import { kindOf, toolTitle } from "../tools/toolKinds";
import { isObject, laidOut, outputText, textIn } from "../tools/toolValues";
import type { Words } from "../words/en";
import { eventText } from "./eventText";
import { type Row, type RowPosition, rowsOf } from "./rows";

/** A place that contains the text. */
export interface TextHit {
  /** The number of an entry in the log: its own, or the first one of its message. */
  sequence: number;
  /** Its row; absent: the entry is not loaded. */
  position?: RowPosition | undefined;
  /** Which of the hits in its row, from 0. */
  nth?: number;
}

/** The current hit. */
export interface FoundText {
  hit: TextHit;
  text: string;
  /** Scrolls to the text; returns false if the document does not show it yet. */
  reveal: () => boolean;
}

/** The texts of rows in lower case: a row object does not change. */
const cached = new WeakMap<Row, string>();

/** Returns the hits in these rows, in their order. */
export function hitsIn(rows: readonly Row[], text: string, words: Words, nameOf: NameOf): TextHit[] {
  const sought = text.trim().toLowerCase();
  if (!sought) return [];
  const hits: TextHit[] = [];
  const parts = sought.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const look = (row: Row, outer: Row, before: number) => {
    const sequence = "message" in row ? (row.message.sequence ?? before) : before;
    const text = mayShow(row, parts) ? textOf(row, words, nameOf) : "";
    const position = { row: outer.key, inner: row.key };
    let nth = 0;
    for (let at = text.indexOf(sought); at >= 0; at = text.indexOf(sought, at + sought.length)) {
      hits.push({ sequence, position, nth });
      nth += 1;
    }
    const nested = row.kind === "block" && row.block.type === "tool" ? row.block.messages : undefined;
    for (const each of nested ? rowsOf({ messages: nested, turns: [] }) : []) look(each, outer, sequence);
    return sequence;
  };
  let last = 0;
  for (const row of rows) last = look(row, row, last);
  return hits;
}

/** Signs of Markdown that may stand within the words of the source, but not within those on the page. */
const WITHIN = /[*_~`\\]/g;
/** What may leave out or replace parts of the source: links, entities, notes, tables, HTML. */
const REPLACES = /[[&<|]/;

/**
 * Whether an answer may show all these words. Tells it without parsing its Markdown, so that the first search
 * in a long conversation is fast.
 */
function mayShow(row: Row, parts: readonly string[]): boolean {
  if (cached.has(row) || row.kind !== "block" || row.block.type !== "text") return true;
  const { text } = row.block;
  if (REPLACES.test(text)) return true;
  const plain = text.toLowerCase().replace(WITHIN, "");
  return parts.every((each) => plain.includes(each));
}

function textOf(row: Row, words: Words, nameOf: NameOf): string {
  let text = cached.get(row);
  if (text === undefined) {
    text = shownIn(row, words, nameOf).toLowerCase();
    cached.set(row, text);
  }
  return text;
}

function shownIn(row: Row, words: Words, nameOf: NameOf): string {
  switch (row.kind) {
    case "day":
      return "";
    case "turn":
      return row.turn.end.error?.message ?? "";
    case "event":
      return eventText(row.block, words, nameOf);
    case "said":
      return row.message.blocks
        .map((block) => (block.type === "text" ? withoutMarkup(block.text) : textOfBlock(block, words)))
        .join("\n");
    case "block":
      return textOfBlock(row.block, words);
  }
}

function textOfBlock(block: BlockView, words: Words): string {
  switch (block.type) {
    case "text":
      return answerParts(block.text)
        .map(({ kind, text }) => (kind === "text" ? withoutMarkdown(text) : text))
        .join("\n");
    case "thinking":
      return withoutMarkdown(block.text);
    case "tool":
      return textOfTool(block, words);
    case "block":
      return textsIn(block.block).join("\n");
    default:
      return "";
  }
}

/** Returns what the open card of a call shows, in its order. */
function textOfTool(tool: ToolView, words: Words): string {
  const { tool_name, tool_type, input, input_text, output, result } = tool;
  const kind = kindOf(tool_name, tool_type);
  const texts = [toolTitle(tool_name, words, tool_type)];
  const about = aboutOf(tool, kind, words);
  const command = kind === "command" ? textIn(input, "command", "cmd") : undefined;
  if (input === undefined || input === null) texts.push(input_text ?? "");
  else if (command !== undefined) texts.push(...new Set([about, command]));
  else if (hasFields(tool, kind)) texts.push(...fieldsIn(input));
  else if (["read", "search", "web"].includes(kind)) texts.push(about);
  else texts.push(...textsIn(input));
  texts.push(withoutMarkup(outputText(output)));
  if (showsResult(tool, kind)) texts.push(withoutMarkup(outputText(result?.content)));
  return texts.join("\n");
}

function fieldsIn(input: unknown): string[] {
  if (!isObject(input)) return [laidOut(input)];
  return Object.entries(input).flatMap(([name, value]) => [name, laidOut(value)]);
}

/** Returns the text without the elements of `markupParts`. */
function withoutMarkup(text: string): string {
  return markupParts(text)
    .flatMap(({ text, name }) => (name === undefined ? [text] : [name, text]))
    .join("\n");
}

/** What may be Markdown. A text without any of it is shown as it is. */
const SIGNS = /[*_~`[\]&<|\\$]|^\s*(?:[-+>#=]|\d+[.)])/m;

/** Returns the text of Markdown as the page shows it; formulas and diagrams as they are written. */
function withoutMarkdown(text: string): string {
  if (text.length > MOST) return text; // shown without Markdown
  if (!SIGNS.test(text)) return text;
  return new GrowingMarkdown().parse(text).map(shownText).join("\n");
}

function shownText(token: Token): string {
  const inner = (tokens: Token[] = [], between = "") => tokens.map(shownText).join(between);
  switch (token.type) {
    case "space":
    case "def":
    case "hr":
    case "noteRef":
    case "checkbox":
      return "";
    case "br":
      return "\n";
    case "list":
      return (token as Tokens.List).items.map(({ tokens }) => inner(tokens, "\n")).join("\n");
    case "blockquote":
      return inner(token.tokens, "\n");
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return [header, ...rows].flatMap((row) => row.map(({ tokens }) => inner(tokens))).join("\n");
    }
    case "code":
    case "codespan":
      return (token as Tokens.Code).text;
    case "image": {
      const { href, text } = token as Tokens.Image;
      return `[${text || href}]`;
    }
    case "text":
    case "escape":
      if (!("tokens" in token && token.tokens)) return decodeEntities((token as Tokens.Text).text);
      return inner(token.tokens);
    default:
      return "tokens" in token && token.tokens ? inner(token.tokens) : token.raw;
  }
}

/** Returns every text in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return isObject(value) || Array.isArray(value) ? Object.values(value).flatMap(textsIn) : [];
}
