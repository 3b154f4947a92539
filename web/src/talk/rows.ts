// The rows of a conversation: one for each block, so that only the visible part of a long message
// is rendered.
import type { BlockView, MessageView, TextView, TurnView, View } from "@turnwire/client";
import { kindOf } from "../tools/toolKinds";
import { isObject, textIn } from "../tools/toolValues";
import { onePlanPerTurn } from "./onePlan";

/** Pixels by which a row may begin above the visible area and count as the first. */
export const SLACK = 8;

export type Row =
  | { kind: "said"; key: string; message: MessageView }
  | {
      kind: "block";
      key: string;
      message: MessageView;
      block: BlockView;
      isFirst: boolean;
      /** The agent that speaks from here on, if several agents spoke in the conversation. */
      speaker?: string | undefined;
      /** Set at the beginning of an answer: the agent that gives it, or "" for that of the conversation. */
      mark?: string | undefined;
      /** Milliseconds since the entry before it, if the log has the times. */
      took?: number | undefined;
      /** Whether it is the answer directly above the end of its turn, which has its buttons. */
      isAboveEnd?: true;
      /** Whether a row below it says that its turn was stopped. */
      isStopTold?: true;
      /** The versions of a plan before `block`, the oldest first. */
      earlier?: readonly BlockView[];
    }
  | { kind: "event"; key: string; message: MessageView; block: BlockView & { type: "event" } }
  | {
      kind: "turn";
      key: string;
      turn: TurnView;
      /** The message of a person that began the turn, if it is loaded. */
      asked?: MessageView | undefined;
      /** The last text of the agent in it. */
      answer?: Answer | undefined;
      /** What the time, the link and the inspector of its end are about: its answer, or its last row. */
      last?: { message: MessageView; block?: BlockView | undefined } | undefined;
    }
  /** The messages below it are of another day than those above. */
  | { kind: "day"; key: string; at: string };

export interface Answer {
  message: MessageView;
  block: TextView;
}

/**
 * Events without a meaning for people: they are in the log and in the inspector, and have no row.
 */
const WITHOUT_ROW = new Set(["init", "session_offered", "task_updated"]);

const cachedRows = new WeakMap<MessageView | TurnView, Row[]>();

/**
 * Returns the same row objects for the same messages, so that unchanged rows are not rendered
 * again.
 */
function rowsOfMessage(
  message: MessageView,
  before: MessageView | undefined,
  speaker: string | undefined,
  mark: string | undefined,
): Row[] {
  let rows = cachedRows.get(message);
  const [cached] = rows ?? [];
  const isSame = cached?.kind !== "block" || (cached.speaker === speaker && cached.mark === mark);
  if (rows === undefined || !isSame) {
    rows = makeRows(message, before, speaker, mark);
    cachedRows.set(message, rows);
  }
  return rows;
}

function makeRows(
  message: MessageView,
  before: MessageView | undefined,
  speaker: string | undefined,
  mark: string | undefined,
): Row[] {
  const { id, role, blocks } = message;
  const whose = message.parent_tool_use_id ? `${message.parent_tool_use_id}/` : "";
  if (role === "user") return [{ kind: "said", key: whose + id, message }];
  return blocks.flatMap((block, at): Row[] => {
    const key = `${whose}${id}/${block.id}`;
    if (block.type === "event")
      return WITHOUT_ROW.has(block.subtype ?? "") ? [] : [{ kind: "event", key, message, block }];
    const isFirst = at === 0;
    const took = isFirst ? between(before, message) : undefined;
    return [{ kind: "block", key, message, block, isFirst, took, ...(isFirst ? { speaker, mark } : {}) }];
  });
}

/**
 * A tool may have run after the first entry of an agent's message: then the times do not tell the
 * duration.
 */
function between(before: MessageView | undefined, message: MessageView): number | undefined {
  if (!before?.timestamp || !message.timestamp || before.role === "assistant") return undefined;
  return Math.max(0, Date.parse(message.timestamp) - Date.parse(before.timestamp));
}

const rowsAboveEnds = new WeakMap<Row, Row>();
const rowsOfStops = new WeakMap<Row, Row>();

/** Returns the same marked row for the same row. */
function marked(
  row: Row & { kind: "block" },
  kept: WeakMap<Row, Row>,
  mark: object,
): Row & { kind: "block" } {
  const found = (kept.get(row) as (Row & { kind: "block" }) | undefined) ?? { ...row, ...mark };
  kept.set(row, found);
  return found;
}

/** Adds the end of a turn, and marks its answer if that is directly above, and a text that was cut short. */
function addEnd(turn: TurnView, rows: Row[]): void {
  const [end] = rowOfTurn(turn, rows) as [Row & { kind: "turn" }];
  const above = rows.at(-1);
  if (above?.kind === "block" && above.block === end.answer?.block)
    rows[rows.length - 1] = marked(above, rowsAboveEnds, { isAboveEnd: true });
  if (turn.end.interrupted || turn.end.is_error) {
    const at = rows.findLastIndex((row) => row.kind === "block");
    const cut = rows[at];
    const isCut = cut?.kind === "block" && cut.block.type === "text" && cut.block.status === "aborted";
    if (isCut && cut.message.turn_id === turn.turn_id)
      rows[at] = marked(cut, rowsOfStops, { isStopTold: true });
  }
  rows.push(end);
}

function rowOfTurn(turn: TurnView, before: readonly Row[]): Row[] {
  let rows = cachedRows.get(turn);
  const [cached] = rows ?? [];
  const { asked, answer, last } = partsOf(turn, before);
  const isSame =
    cached?.kind === "turn" &&
    cached.asked === asked &&
    cached.answer?.block === answer?.block &&
    cached.last?.message === last?.message;
  if (rows === undefined || !isSame) {
    rows = [{ kind: "turn", key: `turn-${turn.turn_id}`, turn, asked, answer, last }];
    cachedRows.set(turn, rows);
  }
  return rows;
}

/** Returns the message that began a turn, the last text of its answer and its last row, from the rows before its end. */
function partsOf({ turn_id }: TurnView, rows: readonly Row[]) {
  let answer: Answer | undefined;
  let last: (Row & { kind: "turn" })["last"];
  for (let at = rows.length - 1; at >= 0; at -= 1) {
    const row = rows[at] as Row;
    if (row.kind === "turn") break;
    if (row.kind === "day" || row.message.turn_id !== turn_id) continue;
    const { message } = row;
    last ??= { message, block: row.kind === "said" ? undefined : row.block };
    if (row.kind === "said" && isPrompt(message)) return { asked: message, answer, last: answer ?? last };
    if (row.kind === "block" && row.block.type === "text") answer ??= { message, block: row.block };
  }
  return { answer, last: answer ?? last };
}

/** Whether a person began a turn with this message: edits and rewinds go back to such a message. */
export function isPrompt({ origin, sequence, steered }: MessageView): boolean {
  return !origin && !steered && sequence !== undefined;
}

const cachedDays = new WeakMap<MessageView, string>();
const rowsOfDays = new WeakMap<MessageView, Row>();

/** Returns the day of a message, where the person is. */
function dayIn(message: MessageView): string | undefined {
  if (message.timestamp === undefined) return undefined;
  let day = cachedDays.get(message);
  if (day === undefined) {
    day = new Date(message.timestamp).toDateString();
    cachedDays.set(message, day);
  }
  return day;
}

function rowOfDay(message: MessageView): Row {
  let row = rowsOfDays.get(message);
  if (row === undefined) {
    row = { kind: "day", key: `day/${message.id}`, at: message.timestamp ?? "" };
    rowsOfDays.set(message, row);
  }
  return row;
}

/**
 * Returns all rows; the end of a turn keeps its position, even if later entries belong to that
 * turn. `hasBeginning`: the first message of the conversation is loaded.
 */
export function rowsOf(view: Pick<View, "messages" | "turns">, hasBeginning = false): Row[] {
  const endings = endingsOf(view);
  const rows: Row[] = [];
  let next = 0;
  /** Adds the turns that ended before this entry; skips turns without loaded entries. */
  const closeBefore = (number: number) => {
    for (; (endings[next]?.after ?? number) < number; next += 1)
      if (rows.length) addEnd((endings[next] as Ending).turn, rows);
  };
  let before: MessageView | undefined;
  let agent = firstAgent(view.messages);
  let shown: string | undefined;
  let isAnswer = false;
  // The beginning has its day above it, unless that is today.
  let day = hasBeginning ? new Date().toDateString() : undefined;
  for (const message of view.messages) {
    closeBefore(message.sequence ?? Number.POSITIVE_INFINITY);
    agent = handoverIn(message)?.agent ?? agent;
    const speaks = message.role === "assistant" && agent !== shown;
    const begins = message.role === "assistant" && !isAnswer;
    const mark = begins ? (agent ?? "") : undefined;
    const own = rowsOfMessage(message, before, speaks ? agent : undefined, mark);
    if (own.length && message.role !== "system") isAnswer = message.role === "assistant";
    const today = dayIn(message);
    if (own.length && today !== undefined) {
      if (day !== undefined && day !== today) rows.push(rowOfDay(message));
      day = today;
    }
    rows.push(...own);
    if (speaks) shown = agent;
    before = message;
  }
  closeBefore(Number.POSITIVE_INFINITY);
  return onePlanPerTurn(withoutRepeats(rows, view.turns));
}

/**
 * Leaves out what another row already says: the news of a task with a card, the start of a task
 * that has ended, and the stop of a turn whose failure has the same reason.
 */
function withoutRepeats(rows: Row[], turns: readonly TurnView[]): Row[] {
  const isNews = (row: Row) => row.kind === "event" && (isTask(row) || row.block.name === "interrupted");
  if (!rows.some(isNews)) return rows;
  const calls = new Set<string>();
  const ended = new Set<string>();
  for (const row of rows) {
    if (row.kind === "block" && row.block.type === "tool") calls.add(row.block.id);
    if (row.kind === "event" && row.block.subtype === "task_notification")
      ended.add(textIn(row.block.data, "task_id") ?? "");
  }
  /** Why turns failed: the card of the failure says the same as the stop. */
  const failed = new Map(turns.flatMap(({ turn_id, end }) => (end.error ? [[turn_id, end.error.code]] : [])));
  return rows.filter((row) => {
    if (row.kind !== "event") return true;
    const { data, name, subtype } = row.block;
    if (name === "interrupted")
      return failed.get(row.message.turn_id ?? -1) !== (textIn(data, "reason") ?? "agent_lost");
    if (!isTask(row)) return true;
    if (calls.has(textIn(data, "tool_use_id") ?? "")) return false;
    return subtype !== "task_started" || !ended.has(textIn(data, "task_id") ?? "");
  });
}

function isTask({ block }: Row & { kind: "event" }): boolean {
  return block.subtype === "task_started" || block.subtype === "task_notification";
}

/** How a task ended. */
export interface TaskEnd {
  status: string;
  summary: string | undefined;
}

/** Returns the ends of tasks, by the call that started them. */
export function taskEndsOf(messages: readonly MessageView[]): ReadonlyMap<string, TaskEnd> {
  const ends = new Map<string, TaskEnd>();
  for (const { role, blocks } of messages) {
    const block = role === "system" ? blocks[0] : undefined;
    if (block?.type !== "event" || block.subtype !== "task_notification") continue;
    const call = textIn(block.data, "tool_use_id");
    const status = textIn(block.data, "status") ?? "completed";
    if (call) ends.set(call, { status, summary: textIn(block.data, "summary") });
  }
  return ends;
}

/** The event that another agent has taken the conversation over. */
function handoverIn({ role, blocks }: MessageView): { agent: string; from: string } | undefined {
  const block = role === "system" ? blocks[0] : undefined;
  if (block?.type !== "event" || block.subtype !== "agent" || !isObject(block.data)) return undefined;
  const { agent, from } = block.data;
  return typeof agent === "string" && typeof from === "string" ? { agent, from } : undefined;
}

/** The agent before the first handover; undefined if there is none. */
function firstAgent(messages: readonly MessageView[]): string | undefined {
  for (const message of messages) {
    const handover = handoverIn(message);
    if (handover) return handover.from;
  }
  return undefined;
}

interface Ending {
  turn: TurnView;
  /** The number of the last entry before it. */
  after: number;
}

/**
 * Returns the ends in order; if the server does not send the position, after the last message of
 * the turn.
 */
function endingsOf({ messages, turns }: Pick<View, "messages" | "turns">): Ending[] {
  const endings = turns.map((turn) => {
    const told = turn.end.after_sequence;
    const last = () => messages.findLast((message) => message.turn_id === turn.turn_id)?.sequence;
    return { turn, after: told ?? last() ?? 0 };
  });
  return endings.sort((one, other) => one.after - other.after);
}

/** An entry of the log: its number, and the ids by which its row is found. */
export interface Entry {
  number: number;
  ids: readonly (string | undefined)[];
}

/** The position of an entry in the rows. */
export interface RowPosition {
  /** The key of the row in the list. */
  row: string;
  /** The key of a sub-agent's row in it, or the same. */
  inner: string;
}

/** Returns the row of this entry; an entry of a sub-agent is inside of its card. */
export function rowOf(rows: readonly Row[], entry: Entry): RowPosition | undefined {
  for (const row of rows) {
    if (shows(row, entry)) return { row: row.key, inner: row.key };
    const nested = row.kind === "block" && row.block.type === "tool" ? row.block.messages : undefined;
    const found = nested && rowOf(rowsOf({ messages: nested, turns: [] }), entry);
    if (found) return { row: row.key, inner: found.inner };
  }
  return undefined;
}

function shows(row: Row, { number, ids }: Entry): boolean {
  if (row.kind === "turn" || row.kind === "day") return false;
  if (row.kind !== "block") return row.message.sequence === number;
  const { block } = row;
  if (row.earlier?.some(({ id }) => ids.includes(id))) return true;
  return ids.includes(block.id) || (block.type === "tool" && ids.includes(block.request?.request_id ?? ""));
}

/** Returns the nearest earlier row, for an entry without a row. */
export function rowNear(rows: readonly Row[], { number }: Entry): RowPosition | undefined {
  const isBefore = (row: Row) => "message" in row && (row.message.sequence ?? number + 1) <= number;
  const key = (rows.findLast(isBefore) ?? rows[0])?.key;
  return key === undefined ? undefined : { row: key, inner: key };
}

/** Returns the last card with a to-do list, among the last rows only: called for every frame. */
export function newestPlan(rows: readonly Row[]): string | undefined {
  const row = rows
    .slice(-300)
    .findLast(
      (each) =>
        each.kind === "block" && each.block.type === "tool" && kindOf(each.block.tool_name) === "todo",
    );
  return row?.kind === "block" ? row.block.id : undefined;
}
