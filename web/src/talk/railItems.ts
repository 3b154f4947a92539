// The places that the rail marks: the messages of the person, failed turns, open requests and the hit of a search.
import type { OpenRequest } from "@turnwire/client";
import { markupParts } from "../tools/agentMarkup";
import { toolTitle } from "../tools/toolKinds";
import type { Words } from "../words/en";
import { textIn } from "./MessageActions";
import type { Row } from "./rows";

export interface RailItem {
  /** Of its row. */
  key: string;
  /** The position of its row. */
  index: number;
  kind: "said" | "failed" | "asks" | "hit";
  row: Row;
}

/** Fewer messages of a person need no rail. */
export const FEWEST = 3;
/** The most marks: with more places each mark stands for several. */
const MOST_MARKS = 40;
/** Of the places of one mark, it shows the kind that comes first here. */
const RANKS: readonly RailItem["kind"][] = ["hit", "asks", "failed", "said"];
/** The characters of a message that are looked at, and that are shown. */
const READ = 1_000;
const SHOWN = 140;

/** Returns the places in these rows. `hit`: the key of the row with the hit. */
export function railItems(
  rows: readonly Row[],
  requests: readonly OpenRequest[],
  hit: string | undefined,
): RailItem[] {
  const open = new Set(requests.flatMap((each) => [each.request_id, each.tool_use_id ?? each.request_id]));
  const items: RailItem[] = [];
  rows.forEach((row, index) => {
    const kind = row.key === hit ? "hit" : kindOf(row, open);
    if (kind !== undefined) items.push({ key: row.key, index, kind, row });
  });
  return items;
}

function kindOf(row: Row, open: ReadonlySet<string>): RailItem["kind"] | undefined {
  if (row.kind === "said") return row.message.origin ? undefined : "said";
  if (row.kind === "turn") return row.turn.end.is_error ? "failed" : undefined;
  if (row.kind !== "block" || row.block.type !== "tool" || !open.size) return undefined;
  return open.has(row.block.id) || open.has(row.block.request?.request_id ?? "") ? "asks" : undefined;
}

/** Whether the rail looks the same with both. */
export function isSame(some: readonly RailItem[], others: readonly RailItem[]): boolean {
  return (
    some.length === others.length &&
    some.every((each, at) => {
      const other = others[at];
      return each.key === other?.key && each.index === other.index && each.kind === other.kind;
    })
  );
}

/** Returns the beginning of what is there. */
export function railText({ kind, row }: RailItem, words: Words): string {
  if (row.kind === "turn") return row.turn.end.error?.message || words.turnFailed;
  if (row.kind === "block" && row.block.type === "tool" && kind === "asks")
    return words.rail.asks(toolTitle(row.block.tool_name, words, row.block.tool_type));
  if (row.kind === "said") return beginningOf(textIn(row.message)) || words.rail.withoutText;
  const text = row.kind === "block" && row.block.type === "text" ? beginningOf(row.block.text) : "";
  return text || words.rail.hit;
}

function beginningOf(text: string): string {
  const read = text.slice(0, READ).trim();
  const file = /^<file name="([^"\n]*)">/.exec(read)?.[1];
  const [first] = file === undefined ? markupParts(read) : [];
  return (file ?? first?.name ?? first?.text ?? "").replace(/\s+/g, " ").slice(0, SHOWN);
}

export interface Mark {
  kind: RailItem["kind"];
  /** The positions of its items. */
  from: number;
  to: number;
  /** The position of the item that it leads to. */
  at: number;
}

/** Returns the marks for these items, a bounded number of them. */
export function marksOf(items: readonly RailItem[]): Mark[] {
  const count = Math.min(items.length, MOST_MARKS);
  return Array.from({ length: count }, (_, mark) => {
    const from = Math.floor((mark * items.length) / count);
    const to = Math.floor(((mark + 1) * items.length) / count);
    const own = items.slice(from, to);
    const kind = RANKS.find((rank) => own.some((each) => each.kind === rank)) ?? "said";
    return { kind, from, to, at: from + own.findIndex((each) => each.kind === kind) };
  });
}

/** Returns the position of the last item at or before a row; 0 if there is none. */
export function itemBefore(items: readonly RailItem[], row: number): number {
  let [low, high] = [0, items.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((items[middle]?.index ?? 0) <= row) low = middle;
    else high = middle - 1;
  }
  return low;
}
