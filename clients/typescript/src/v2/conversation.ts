// One conversation over protocol v2, across reconnects: resumes from the cursor, and resends
// commands without an answer under the same id.

import { tooLarge, written } from "../connection/encoding.js";
import {
  FollowedConversation,
  type FollowedSnapshot,
  type OpenConversations,
  type Waiting,
} from "../connection/followed_conversation.js";
import type { Opening } from "../connection/reconnecting_socket.js";
import type { Transport } from "../connection/transport.js";
import { Refused } from "../errors.js";
import type {
  Accepted,
  Capabilities,
  ClientFrame,
  Limits,
  PermissionChoice,
  QueueChange,
  SentFile,
  SentImage,
  SentText,
  ServerFrame,
  SessionInfo,
  Status,
  Stop,
  View,
} from "../generated/types.js";
import type { Http } from "../http.js";
import { newId } from "../ids.js";
import { integer, object } from "../lenient.js";
import { sameOr } from "../view/sharing.js";
import { type PayloadOf, readFrame } from "./frames.js";
import { ViewReducer } from "./reducer.js";

/** The content of a message: text, or a list of text, images and files. */
export type SentContent = string | (SentText | SentImage | SentFile)[];

export interface ConversationOptions {
  /** Load at most this many of the newest entries. */
  tail?: number;
}

export interface Snapshot extends FollowedSnapshot {
  /** Commands without an answer. */
  readonly unanswered: readonly ClientFrame[];
  /** The features of the agent. */
  readonly capabilities?: Capabilities | undefined;
  readonly limits?: Limits | undefined;
}

/** The answer to `GET /api/conversations/{id}/messages`. */
interface OlderEntries {
  messages: { message_sequence: number | null; event: unknown }[];
  epoch: string;
}

interface Sent extends Waiting {
  accept(ack: Accepted): void;
  frame: ClientFrame;
  raw: string;
}

export class Conversation extends FollowedConversation<Snapshot, Sent> {
  readonly #reducer = new ViewReducer();
  readonly #hearers = new Set<(frame: ServerFrame) => void>();
  #info: SessionInfo | undefined;
  #unanswered: readonly ClientFrame[] = [];
  /** `sequence` of the last frame of this connection. */
  #sequence = 0;
  #loading: Promise<boolean> | undefined;
  /** The agent and its offers for which the capabilities were asked for again. */
  #renewedFor: string | undefined;

  readonly #http: Http;
  readonly #options: ConversationOptions;

  constructor(
    readonly id: string,
    http: Http,
    transport: Transport,
    open: OpenConversations,
    options: ConversationOptions = {},
  ) {
    super(http, transport, open);
    this.#http = http;
    this.#options = options;
  }

  view(): View {
    return this.#reducer.view();
  }

  /** Calls `hearer` for every frame; missed frames come as they were first sent. */
  onFrame(hearer: (frame: ServerFrame) => void): () => void {
    this.#hearers.add(hearer);
    return () => this.#hearers.delete(hearer);
  }

  /** Loads older entries. Returns whether there were any. */
  readonly loadOlder = (limit = 200): Promise<boolean> => {
    this.#loading ??= this.#fetchOlder(limit).finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  };

  async #fetchOlder(limit: number): Promise<boolean> {
    const reducer = this.#reducer;
    const { first } = reducer;
    if (first <= 1) return false;
    const path = `/api/conversations/${encodeURIComponent(this.id)}/messages?before=${first}&limit=${limit}`;
    const { messages, epoch } = await this.#http.request<OlderEntries>("GET", path);
    // The log may have been replaced or reloaded meanwhile.
    if (epoch !== reducer.epoch || first !== reducer.first) return false;
    const frames = messages.map((each) => readFrame(each.event));
    reducer.prepend(messages.find((each) => each.message_sequence)?.message_sequence ?? 1, frames);
    this.changed();
    return messages.length > 0;
  }

  // --- commands -----------------------------------------------------------------------------------------

  /**
   * Sends a message to the agent. Rejects with Refused or Closed; it is never executed twice.
   * With `steer` it goes into the running turn, if the agent's capability `steer` says that it can.
   */
  readonly send = (content: SentContent, clientMessageId?: string, steer = false): Promise<Accepted> =>
    this.#ask("user.message", steer ? { content, steer } : { content }, clientMessageId);

  /** Answers a question. */
  readonly answer = (
    questionId: string,
    answer: PayloadOf<"user.input_response">["answer"],
  ): Promise<Accepted> => this.#ask("user.input_response", { question_id: questionId, answer });

  /** Allows or denies a tool call. */
  readonly decide = (
    requestId: string,
    decision: PermissionChoice["decision"],
    more: Omit<PermissionChoice, "request_id" | "decision"> = {},
  ): Promise<Accepted> => this.#ask("user.permission_response", { ...more, request_id: requestId, decision });

  /** Interrupts a turn: the running one, unless another is named. */
  readonly interrupt = async (turnId?: number, queue?: Stop["queue"]): Promise<Accepted> => {
    const turn_id = turnId ?? this.view().status?.turn_id;
    if (turn_id === undefined) return { outcome: "already_ended" };
    return this.#ask("user.interrupt", queue === undefined ? { turn_id } : { turn_id, queue });
  };

  /** Removes, replaces or moves a queued message, or resumes a held queue. */
  readonly changeQueue = (change: QueueChange): Promise<Accepted> => this.#ask("user.queue", change);

  /** Restores files to their content before a message. */
  readonly rewind = (messageSequence: number, dryRun = false): Promise<Accepted> =>
    this.#ask("user.rewind", { message_sequence: messageSequence, dry_run: dryRun });

  /** Takes a remembered permission rule back: the agent asks again. */
  readonly forgetRule = (ruleId: string): Promise<Accepted> =>
    this.#ask("session.forget_rule", { rule_id: ruleId });

  /** Lets another agent speak from the next turn on. It is told what was said before. */
  readonly setAgent = (agent: string): Promise<Accepted> => this.#ask("session.set_agent", { agent });

  /** Sets the model from the next turn on; null: the agent's default. */
  readonly setModel = (model: string | null): Promise<Accepted> => this.#ask("session.set_model", { model });

  /** Sets the permission mode: how often the agent asks. */
  readonly setPermissionMode = (mode: string): Promise<Accepted> =>
    this.#ask("session.set_permission_mode", { mode });

  /** Sets the maximum of reasoning tokens from the next turn on; null: the agent's default. */
  readonly setMaxThinkingTokens = (most: number | null): Promise<Accepted> =>
    this.#ask("session.set_max_thinking_tokens", { max_thinking_tokens: most });

  /** Sends one of `capabilities.controls` to the agent; the ack has its `result`. */
  readonly control = (control: PayloadOf<"session.control">): Promise<Accepted> =>
    this.#ask("session.control", control);

  #ask<T extends ClientFrame["type"]>(
    type: T,
    payload: PayloadOf<T>,
    clientMessageId: string = newId(),
  ): Promise<Accepted> {
    if (this.closedBy) return Promise.reject(this.closedBy);
    this.connect();
    const frame = { type, client_message_id: clientMessageId, payload } as ClientFrame;
    return new Promise((accept, refuse) => {
      const asked = { frame, raw: written(frame), accept, refuse };
      this.waiting.set(clientMessageId, asked);
      this.#put(asked);
      this.changed();
    });
  }

  /**
   * Sends a command if the size limit is known: the first frame of each connection has it, and
   * starts resending.
   */
  #put({ frame, raw, refuse }: Sent): void {
    if (this.connection !== "catching_up" && this.connection !== "connected") return;
    const refused = tooLarge(raw, this.#info?.limits.max_frame_bytes);
    if (!refused) return this.line.send(raw);
    this.#taken(frame.client_message_id);
    refuse(refused);
  }

  // --- the connection -----------------------------------------------------------------------------------------

  protected opening(): Promise<Opening> {
    const { cursor, epoch } = this.#reducer;
    const path = `/ws/conversations/${encodeURIComponent(this.id)}`;
    const place = { protocol: "v2", last_sequence: cursor, epoch, tail: this.#options.tail };
    return this.openingAt("turnwire.v2", path, place);
  }

  protected begin(): void {
    this.#sequence = 0;
  }

  protected beat(): void {
    this.line.send('{"type":"session.heartbeat"}');
  }

  protected hear(value: unknown): void {
    const next = this.#sequence + 1;
    this.#sequence = integer(object(value)?.sequence) ?? next;
    if (this.#sequence > next) return this.line.drop(); // this connection has lost a frame
    const frame = readFrame(value);
    this.#reducer.apply(frame);
    if (this.#reducer.behind) return this.line.drop();
    this.#heard(frame);
    const told = frame.type === "message.replay" ? frame.payload.event : frame;
    for (const hearer of [...this.#hearers]) hearer(told);
  }

  #heard(frame: ServerFrame): void {
    switch (frame.type) {
      case "session.connected":
      case "session.resumed":
        this.#info = frame.payload;
        this.connection = "catching_up";
        this.note(undefined);
        this.line.expectEvery(frame.payload.limits.heartbeat_seconds);
        for (const asked of [...this.waiting.values()]) this.#put(asked);
        return;
      case "session.state":
        this.connection = "connected";
        this.#renew(frame.payload);
        return;
      case "session.error": {
        const asked = this.#taken(frame.payload.client_message_id);
        if (asked) asked.refuse(new Refused(frame.payload));
        else this.note(frame.payload);
        return;
      }
      default:
        if (frame.type.endsWith(".ack")) {
          const ack = (frame as { payload: Accepted }).payload;
          this.#taken(ack.client_message_id)?.accept(ack);
        }
    }
  }

  /**
   * Connects again, once for each agent that takes over, and once for each list of choices that the
   * agent's session offers: a connection keeps the capabilities that it began with.
   */
  #renew({ agent, offers }: Status): void {
    const known = this.#info?.capabilities;
    const wanted = JSON.stringify([agent ?? known?.agent, offers]);
    if (wanted === JSON.stringify([known?.agent, known?.offers])) this.#renewedFor = undefined;
    else if (wanted !== this.#renewedFor) {
      this.#renewedFor = wanted;
      this.line.drop();
    }
  }

  #taken(clientMessageId: string | null | undefined): Sent | undefined {
    const asked = this.waiting.get(clientMessageId ?? "");
    this.waiting.delete(clientMessageId ?? "");
    return asked;
  }

  protected look(): Snapshot {
    const unanswered = [...this.waiting.values()].map((each) => each.frame);
    this.#unanswered = sameOr(this.#unanswered, unanswered);
    return {
      view: this.view(),
      connection: this.connection,
      error: this.closedBy,
      unanswered: this.#unanswered,
      capabilities: this.#info?.capabilities,
      limits: this.#info?.limits,
    };
  }
}
