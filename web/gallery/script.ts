// Writes the frames of one conversation, as a server sends them.

export interface Frame {
  type: string;
  conversation_id: string;
  turn_id: number | null;
  sequence: number;
  timestamp: string;
  trace_id: string | null;
  payload: Record<string, unknown>;
}

/** The time of the first frame; the same in each run. */
const BEGIN = Date.UTC(2026, 2, 2, 10, 0);
const TRACE = "ee90fa923dea18fc29fe35d3acb85208";
const COMMANDS = ["message", "input_response", "permission_response", "interrupt", "queue", "rewind"];
const CONTROLS = [
  "set_model",
  "set_permission_mode",
  "set_max_thinking_tokens",
  "forget_rule",
  "control",
  "heartbeat",
];

export const CAPABILITIES = {
  agent: "claude",
  commands: [...COMMANDS.map((each) => `user.${each}`), ...CONTROLS.map((each) => `session.${each}`)],
  controls: ["stop_task", "mcp_status", "context_usage"],
  files: ["application/pdf"],
  fork: true,
  images: true,
  steer: true,
  models: ["model-large", "model-small"],
  permission_modes: ["default", "acceptEdits", "plan", "bypassPermissions"],
};

export const at = (seconds: number) => new Date(BEGIN + seconds * 1000).toISOString();

export class Script {
  readonly frames: Frame[] = [];
  /** The status that the last frame tells. */
  status: Record<string, unknown> = { state: "active", running: false, queue: [], requests: [] };
  /** The entries of the log. */
  private entries = 0;
  private messages = 0;
  private turn: number | null = null;
  private turns = 0;

  constructor(readonly id: string) {
    this.add("session.connected", {
      connection_id: "c-1",
      client_id: "web-1",
      epoch: "e-1",
      first: 1,
      head: 0,
      capabilities: CAPABILITIES,
      limits: { max_frame_bytes: 1_048_576, max_queue: 16, heartbeat_seconds: 15 },
    });
    this.add("session.replay_complete", { through: 0 });
    this.tell({ model: "model-large", permission_mode: "default" });
  }

  add(type: string, payload: Record<string, unknown>): this {
    const sequence = this.frames.length + 1;
    const { id, turn } = this;
    const trace_id = turn === null ? null : TRACE;
    this.frames.push({
      type,
      conversation_id: id,
      turn_id: turn,
      sequence,
      timestamp: at(sequence),
      trace_id,
      payload,
    });
    return this;
  }

  /** Changes the status. */
  tell(change: Record<string, unknown>): this {
    this.status = { ...this.status, ...change };
    return this.add("session.state", this.status);
  }

  /** A person says something, which begins a turn. */
  said(text: string, more: Record<string, unknown> = {}): this {
    this.turns += 1;
    this.turn = this.turns;
    this.add("turn.started", { turn_id: this.turn, origin: "user", client_message_id: `m-${this.turn}` });
    const content = [{ type: "text", text }];
    const entry = { message_sequence: this.next(), client_message_id: `m-${this.turn}`, by: "ann" };
    this.add("user.message", { content, ...entry, ...more });
    return this.tell({ state: "streaming", running: true, turn_id: this.turn });
  }

  text(text: string): this {
    return this.whole("assistant.chunk", { text });
  }

  thinking(text: string, more: Record<string, unknown> = {}): this {
    return this.whole("assistant.thinking", { text, ...more });
  }

  /** A block that is not finished. */
  growing(type: "assistant.chunk" | "assistant.thinking", text: string): this {
    return this.add(type, { ...this.block(), partial: true, text, chunk_seq: 1 });
  }

  call(id: string, tool_name: string, input: unknown, more: Record<string, unknown> = {}): this {
    const block = { ...this.block(), block_id: id, tool_use_id: id, tool_name, input, ...more };
    return this.add("assistant.tool_call", { ...block, partial: false, message_sequence: this.next() });
  }

  progress(id: string, output?: string): this {
    const told = output === undefined ? {} : { output };
    return this.add("assistant.tool_progress", { tool_use_id: id, elapsed_seconds: 4, ...told });
  }

  result(id: string, content: unknown, more: Record<string, unknown> = {}): this {
    const result = { tool_use_id: id, is_error: false, content, message_sequence: this.next(), ...more };
    return this.add("assistant.tool_result", result);
  }

  event(subtype: string, data: unknown, text?: string): this {
    return this.add("session.system_event", { subtype, message_sequence: this.next(), data, text });
  }

  /** A permission that waits, with its call. */
  permission(tool_name: string, input: unknown, more: Record<string, unknown> = {}): this {
    const id = `call-${this.entries}`;
    const request = { request_id: `r-${this.entries}`, tool_use_id: id, tool_name, input, ...more };
    this.call(id, tool_name, input);
    const message_sequence = this.next();
    this.add("assistant.permission_request", { ...request, message_sequence });
    return this.waits({ ...request, kind: "permission", message_sequence });
  }

  /** Questions that wait. */
  question(questions: Record<string, unknown>[], more: Record<string, unknown> = {}): this {
    const id = `question-${this.entries}`;
    const message_sequence = this.next();
    const [first] = questions;
    const asked = { tool_name: "AskUserQuestion", input: { questions }, questions };
    const waiting = { required: true, metadata: null, inbox_item_id: `in-${id}`, deadline_at: null };
    this.add("assistant.request_input", {
      ...this.block(),
      ...asked,
      ...waiting,
      ...more,
      question_id: id,
      block_id: id,
      question: first?.question,
      options: first?.options,
      message_sequence,
    });
    const request = { request_id: id, kind: "question", tool_use_id: id, message_sequence };
    return this.waits({ ...request, ...asked, ...more, inbox_item_id: `in-${id}` });
  }

  /** A person has answered the last request. The answer to a question is the result of its call. */
  resolved(more: Record<string, unknown>): this {
    const [request] = this.status.requests as { request_id: string }[];
    const message_sequence = this.next();
    const outcome = { outcome: "answered", by: "ann", delivered_as: "decision" };
    this.add("assistant.request_resolved", {
      request_id: request?.request_id,
      message_sequence,
      ...outcome,
      ...more,
    });
    this.tell({ state: "streaming", requests: [] });
    return more.delivered_as === "tool_result"
      ? this.result(`${request?.request_id}`, JSON.stringify(more.answer))
      : this;
  }

  /** The turn ends. */
  end(more: Record<string, unknown> = {}): this {
    const usage = { input_tokens: 3104, output_tokens: 161 };
    const how = { is_error: false, interrupted: false, stop_reason: "end_turn", usage };
    const end = { ...how, cost_usd: 0.0117, duration_ms: 3380, after_sequence: this.entries, ...more };
    this.add("assistant.complete", end);
    this.turn = null;
    const { turn_id: _, ...status } = this.status;
    this.status = status;
    const state = end.is_error ? "error" : end.interrupted ? "interrupted" : "active";
    return this.tell({ state, running: false, requests: [], last_turn: end, last_turn_id: this.turns });
  }

  /** Returns the frame of an entry of the log. */
  entry(number: number): Frame | undefined {
    return this.frames.find(({ payload }) => payload.message_sequence === number);
  }

  /** The log, as `GET /api/conversations/{id}/messages` answers. */
  get log(): { message_sequence: number | null; event: Frame }[] {
    return this.frames
      .filter(({ type, payload }) => payload.message_sequence !== undefined || type === "assistant.complete")
      .map((event) => ({
        message_sequence: (event.payload.message_sequence as number | undefined) ?? null,
        event,
      }));
  }

  private waits(request: Record<string, unknown>): this {
    const requests = [...(this.status.requests as unknown[]), { ...request, turn_id: this.turn }];
    return this.tell({ state: "waiting_input", requests });
  }

  private whole(type: string, payload: Record<string, unknown>): this {
    return this.add(type, { ...this.block(), partial: false, message_sequence: this.next(), ...payload });
  }

  private block() {
    this.messages += 1;
    const message_id = `msg-${this.messages}`;
    return { block_id: `${message_id}:0`, message_id, index: 0 };
  }

  private next(): number {
    this.entries += 1;
    return this.entries;
  }
}
