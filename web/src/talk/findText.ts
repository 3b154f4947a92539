// Finds text in the loaded rows of a conversation, also in rows that are not in the document.
import type { BlockView } from "@turnwire/client";
import type { NameOf } from "../app/me";
import { toolTitle } from "../tools/toolKinds";
import { isObject, outputText } from "../tools/toolValues";
import type { Words } from "../words/en";
import { eventText } from "./eventText";
import { type Row, type RowPosition, rowsOf } from "./rows";

/** A place that contains the text. */
export interface TextHit {
  /** The number of an entry in the log: its own, or the first one of its message. */
  sequence: number;
  /** Its row; absent: the entry is not loaded. */
  position?: RowPosition | undefined;
}

/** The texts of rows in lower case: a row object does not change. */
const cached = new WeakMap<Row, string>();

/** Returns the hits in these rows, in their order. */
export function hitsIn(rows: readonly Row[], text: string, words: Words, nameOf: NameOf): TextHit[] {
  const sought = text.trim().toLowerCase();
  if (!sought) return [];
  const hits: TextHit[] = [];
  const look = (row: Row, outer: Row, before: number) => {
    const sequence = "message" in row ? (row.message.sequence ?? before) : before;
    if (textOf(row, words, nameOf).includes(sought))
      hits.push({ sequence, position: { row: outer.key, inner: row.key } });
    const nested = row.kind === "block" && row.block.type === "tool" ? row.block.messages : undefined;
    for (const each of nested ? rowsOf({ messages: nested, turns: [] }) : []) look(each, outer, sequence);
    return sequence;
  };
  let last = 0;
  for (const row of rows) last = look(row, row, last);
  return hits;
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
      return row.message.blocks.map((block) => textOfBlock(block, words)).join("\n");
    case "block":
      return textOfBlock(row.block, words);
  }
}

function textOfBlock(block: BlockView, words: Words): string {
  switch (block.type) {
    case "text":
    case "thinking":
      return block.text;
    case "tool": {
      const { tool_name, tool_type, input, input_text, output, result } = block;
      const name = toolTitle(tool_name, words, tool_type);
      const given = input === undefined ? (input_text ?? "") : textsIn(input).join("\n");
      return [name, given, outputText(output), outputText(result?.content)].join("\n");
    }
    case "block":
      return textsIn(block.block).join("\n");
    default:
      return "";
  }
}

/** Returns every text in a value. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return isObject(value) || Array.isArray(value) ? Object.values(value).flatMap(textsIn) : [];
}
