// The rows of a conversation: a row for each block, so that even a long message is drawn only where it is seen.
import type { BlockView, MessageView, TurnView, View } from "@turnwire/client";
import { kindOf } from "../tools/kinds";

export type Row =
  | { kind: "said"; key: string; message: MessageView }
  | {
      kind: "block";
      key: string;
      message: MessageView;
      block: BlockView;
      isFirst: boolean;
      /** Milliseconds from what was there before it, if the log tells. */
      took?: number | undefined;
    }
  | { kind: "event"; key: string; message: MessageView; block: BlockView & { type: "event" } }
  | { kind: "turn"; key: string; turn: TurnView };

const made = new WeakMap<MessageView | TurnView, Row[]>();

/** The same row objects for the same messages: what has not changed is not drawn again. */
function rowsOfMessage(message: MessageView, before: MessageView | undefined): Row[] {
  let rows = made.get(message);
  if (rows === undefined) {
    rows = makeRows(message, before);
    made.set(message, rows);
  }
  return rows;
}

function makeRows(message: MessageView, before: MessageView | undefined): Row[] {
  const { id, role, blocks } = message;
  const whose = message.parent_tool_use_id ? `${message.parent_tool_use_id}/` : "";
  if (role === "user") return [{ kind: "said", key: whose + id, message }];
  return blocks.map((block, at): Row => {
    const key = `${whose}${id}/${block.id}`;
    if (block.type === "event") return { kind: "event", key, message, block };
    const isFirst = at === 0;
    return {
      kind: "block",
      key,
      message,
      block,
      isFirst,
      took: isFirst ? between(before, message) : undefined,
    };
  });
}

/** A tool may have run after the first entry of an agent's message: of that the log's times tell nothing. */
function between(before: MessageView | undefined, message: MessageView): number | undefined {
  if (!before?.timestamp || !message.timestamp || before.role === "assistant") return undefined;
  return Math.max(0, Date.parse(message.timestamp) - Date.parse(before.timestamp));
}

function rowOfTurn(turn: TurnView): Row[] {
  let rows = made.get(turn);
  if (rows === undefined) {
    rows = [{ kind: "turn", key: `turn-${turn.turn_id}`, turn }];
    made.set(turn, rows);
  }
  return rows;
}

/** All rows; how a turn ended stands after the last message of it. */
export function rowsOf(view: Pick<View, "messages" | "turns">): Row[] {
  const ended = new Map(view.turns.map((turn) => [turn.turn_id, turn]));
  const rows: Row[] = [];
  let current: number | undefined;
  const close = () => {
    const turn = current === undefined ? undefined : ended.get(current);
    if (turn === undefined) return;
    rows.push(...rowOfTurn(turn));
    ended.delete(turn.turn_id);
  };
  let before: MessageView | undefined;
  for (const message of view.messages) {
    if (message.turn_id !== undefined && message.turn_id !== current) {
      close();
      current = message.turn_id;
    }
    rows.push(...rowsOfMessage(message, before));
    before = message;
  }
  close();
  return rows;
}

/** The row that shows this entry of the log, as near as can be told: a message has the number of its first. */
export function rowAt(rows: readonly Row[], number: number): number {
  const isBefore = (row: Row) =>
    row.kind !== "turn" && (row.message.sequence ?? Number.POSITIVE_INFINITY) <= number;
  const last = rows.findLastIndex(isBefore);
  const row = rows[last];
  if (row?.kind !== "block") return last;
  const first = rows.findIndex((each) => each.kind === "block" && each.message === row.message);
  return Math.min(first + number - (row.message.sequence ?? number), last);
}

/** The last card with a to-do list, among those that can be near: this is asked for every frame. */
export function newestPlan(rows: readonly Row[]): string | undefined {
  const row = rows
    .slice(-300)
    .findLast(
      (each) =>
        each.kind === "block" && each.block.type === "tool" && kindOf(each.block.tool_name) === "todo",
    );
  return row?.kind === "block" ? row.block.id : undefined;
}
