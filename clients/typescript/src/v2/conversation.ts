// One conversation over protocol v2, over as many connections as it takes: it resumes where it was,
// and sends again, under the same id, what was not answered.
import { Closed, Refused } from "../errors.js";
import type {
  Accepted,
  Capabilities,
  ClientFrame,
  ErrorPayload,
  Limits,
  PermissionChoice,
  QueueChange,
  SentFile,
  SentImage,
  SentText,
  ServerFrame,
  SessionInfo,
  Stop,
  View,
} from "../generated/types.js";
import type { Http } from "../http.js";
import { newId } from "../ids.js";
import { integer, isObject, readJson } from "../lenient.js";
import { Line } from "../line/line.js";
import { openingOf } from "../line/opening.js";
import type { Transport } from "../line/transport.js";
import { Updates } from "../line/updates.js";
import { isSame } from "../view/drawing.js";
import { type PayloadOf, readFrame } from "./frames.js";
import { ViewReducer } from "./reducer.js";

/** What is said: words, or words, pictures and files in their order. */
export type SentContent = string | (SentText | SentImage | SentFile)[];

export interface ConversationOptions {
  /** The newest so many entries of the log are enough. */
  tail?: number;
}

/** What a front end shows. It is made anew once per frame, and only where something has changed. */
export interface Snapshot {
  readonly view: View;
  /** `connected`: all that was missed is here. */
  readonly connection: "idle" | "connecting" | "connected" | "closed";
  /** Sent, and not answered yet. */
  readonly unanswered: readonly ClientFrame[];
  /** Why it was closed for good. */
  readonly error?: Closed | undefined;
  /** What this conversation's agent can do. */
  readonly capabilities?: Capabilities | undefined;
  readonly limits?: Limits | undefined;
}

interface Waiting {
  frame: ClientFrame;
  raw: string;
  accept(ack: Accepted): void;
  refuse(error: Error): void;
}

/** For so long a conversation that nobody looks at stays connected: pages come and go. */
const LINGER = 1_000;

export class Conversation {
  private readonly reducer = new ViewReducer();
  private readonly line: Line;
  private readonly updates = new Updates(() => this.refresh());
  private readonly hearers = new Set<(frame: ServerFrame) => void>();
  private readonly waiting = new Map<string, Waiting>();
  private connection: Snapshot["connection"] = "idle";
  private info: SessionInfo | undefined;
  /** Of the last frame of this connection. */
  private sequence = 0;
  private lastError: ErrorPayload | undefined;
  private closedBy: Closed | undefined;
  private isPinned = false;
  private holders = 0;
  private last: Snapshot = { view: this.reducer.view(), connection: "idle", unanswered: [] };

  constructor(
    readonly id: string,
    private readonly http: Http,
    transport: Transport,
    private readonly options: ConversationOptions = {},
  ) {
    const path = `/ws/conversations/${encodeURIComponent(id)}`;
    this.line = new Line(transport, {
      opening: () => openingOf(this.http, transport, "turnwire.v2", path, this.place()),
      open: () => this.begin(),
      message: (text) => this.hear(text),
      lost: () => this.setConnection("connecting"),
      closed: (code) => this.end(code),
      beat: () => void this.line.send('{"type":"session.heartbeat"}'),
    });
  }

  // --- looking --------------------------------------------------------------------------------------

  /** What a front end shows: the same object until the next update. */
  get snapshot(): Snapshot {
    return this.last;
  }

  /** What a person would see now, between two updates too. */
  view(): View {
    return this.reducer.view();
  }

  /** Calls `listener` after each update, at most once per animation frame. */
  readonly subscribe = (listener: () => void): (() => void) => this.updates.subscribe(listener);

  /** Calls `hearer` with every frame as it comes; what was missed comes as it was first sent. */
  onFrame(hearer: (frame: ServerFrame) => void): () => void {
    this.hearers.add(hearer);
    return () => this.hearers.delete(hearer);
  }

  /** Waits until the view is as it should be. Rejects with Closed. */
  until(isSo: (view: View) => boolean): Promise<View> {
    this.connect();
    this.updates.flush();
    return new Promise((resolve, reject) => {
      const look = () => {
        const { view, connection, error } = this.last;
        try {
          if (isSo(view)) resolve(view);
          else if (connection === "closed" || connection === "idle") reject(error ?? closedHere());
          else return;
        } catch (error) {
          reject(error);
        }
        stop();
      };
      const stop = this.subscribe(look);
      look();
    });
  }

  // --- being there ------------------------------------------------------------------------------------

  /** Connects, and stays connected until `close`. Whoever asks or waits connects too. */
  open(): this {
    this.isPinned = true;
    this.connect();
    return this;
  }

  private connect(): void {
    if (this.connection === "idle") {
      this.setConnection("connecting");
      this.line.open();
    }
  }

  /** Disconnects. What was not answered is rejected; it may or may not have been heard. */
  close(): void {
    this.isPinned = false;
    this.line.close();
    this.rejectAll(closedHere());
    this.closedBy = undefined;
    this.setConnection("idle");
  }

  /** Stays connected as long as somebody holds it. Returns how to let go. */
  hold(): () => void {
    this.holders += 1;
    this.connect();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.holders -= 1;
      setTimeout(() => {
        if (this.holders === 0 && !this.isPinned && !this.waiting.size) this.close();
      }, LINGER);
    };
  }

  /** Whether nobody is connected or about to be. */
  get isIdle(): boolean {
    return this.holders === 0 && (this.connection === "idle" || this.connection === "closed");
  }

  // --- asking -------------------------------------------------------------------------------------------

  /** Says something to the agent. Rejects with Refused or Closed; it never counts twice. */
  readonly send = (content: SentContent, clientMessageId?: string): Promise<Accepted> =>
    this.ask("user.message", { content }, clientMessageId);

  /** Answers a question. */
  readonly answer = (
    questionId: string,
    answer: PayloadOf<"user.input_response">["answer"],
  ): Promise<Accepted> => this.ask("user.input_response", { question_id: questionId, answer });

  /** Allows or denies what the agent wants to run. */
  readonly decide = (
    requestId: string,
    decision: PermissionChoice["decision"],
    more: Omit<PermissionChoice, "request_id" | "decision"> = {},
  ): Promise<Accepted> => this.ask("user.permission_response", { ...more, request_id: requestId, decision });

  /** Stops a turn: the one that runs, unless another is named. */
  readonly interrupt = async (turnId?: number, queue?: Stop["queue"]): Promise<Accepted> => {
    const turn_id = turnId ?? this.view().status?.turn_id;
    if (turn_id === undefined) return { outcome: "already_ended" };
    return this.ask("user.interrupt", queue === undefined ? { turn_id } : { turn_id, queue });
  };

  /** Removes, replaces or moves a message that waits, or lets a held queue go on. */
  readonly changeQueue = (change: QueueChange): Promise<Accepted> => this.ask("user.queue", change);

  /** Puts files back as they were before a message. */
  readonly rewind = (messageSequence: number, dryRun = false): Promise<Accepted> =>
    this.ask("user.rewind", { message_sequence: messageSequence, dry_run: dryRun });

  /** Uses another model from the next turn on; null: the agent's default. */
  readonly setModel = (model: string | null): Promise<Accepted> => this.ask("session.set_model", { model });

  /** Asks more often, or less. */
  readonly setPermissionMode = (mode: string): Promise<Accepted> =>
    this.ask("session.set_permission_mode", { mode });

  private ask<T extends ClientFrame["type"]>(
    type: T,
    payload: PayloadOf<T>,
    clientMessageId: string = newId(),
  ): Promise<Accepted> {
    if (this.closedBy) return Promise.reject(this.closedBy);
    this.connect();
    const frame = { type, client_message_id: clientMessageId, payload } as ClientFrame;
    const raw = JSON.stringify(frame);
    return new Promise((accept, refuse) => {
      this.waiting.set(clientMessageId, { frame, raw, accept, refuse });
      this.line.send(raw);
      this.updates.changed();
    });
  }

  // --- the line -----------------------------------------------------------------------------------------

  private place(): Record<string, string | number | undefined> {
    const { cursor, epoch } = this.reducer;
    return { protocol: "v2", last_sequence: cursor, epoch, tail: this.options.tail };
  }

  private begin(): void {
    this.sequence = 0;
    for (const { raw } of this.waiting.values()) this.line.send(raw);
  }

  private hear(text: string): void {
    const value = readJson(text);
    const sequence = isObject(value) ? integer(value.sequence) : undefined;
    if (sequence !== undefined && sequence > this.sequence + 1) {
      return this.line.drop(); // the connection itself has lost a frame
    }
    this.sequence = sequence ?? this.sequence + 1;
    const frame = readFrame(value);
    this.reducer.apply(frame);
    if (this.reducer.behind) return this.line.drop();
    this.note(frame);
    this.updates.changed();
    const told = frame.type === "message.replay" ? frame.payload.event : frame;
    for (const hearer of [...this.hearers]) hearer(told);
  }

  private note(frame: ServerFrame): void {
    switch (frame.type) {
      case "session.connected":
      case "session.resumed":
        this.info = frame.payload;
        this.lastError = undefined;
        this.line.expectEvery(frame.payload.limits.heartbeat_seconds);
        return;
      case "session.state":
        this.connection = "connected";
        return;
      case "session.error":
        return this.refused(frame.payload);
      case "user.message.ack":
      case "user.input_response.ack":
      case "user.permission_response.ack":
      case "user.interrupt.ack":
      case "user.queue.ack":
      case "user.rewind.ack":
      case "session.set_model.ack":
      case "session.set_permission_mode.ack":
        this.taken(frame.payload.client_message_id)?.accept(frame.payload);
    }
  }

  private refused(error: ErrorPayload): void {
    const asked = this.taken(error.client_message_id);
    if (asked !== undefined) {
      asked.refuse(new Refused(error));
      return;
    }
    this.lastError = error;
    const wait = error.data?.retry_after;
    if (error.code === "RATE_LIMITED" && typeof wait === "number") this.line.waitAtLeast(wait);
  }

  private taken(clientMessageId: string | undefined): Waiting | undefined {
    if (clientMessageId === undefined) return undefined;
    const asked = this.waiting.get(clientMessageId);
    this.waiting.delete(clientMessageId);
    return asked;
  }

  private end(closeCode: number): void {
    const { code, message } = this.lastError ?? {};
    const words = message ?? `The server closed the conversation (${closeCode}).`;
    this.closedBy = new Closed(code ?? "CONVERSATION_CLOSED", words, closeCode);
    this.rejectAll(this.closedBy);
    this.setConnection("closed");
  }

  private rejectAll(error: Closed): void {
    for (const { refuse } of this.waiting.values()) refuse(error);
    this.waiting.clear();
  }

  // --- updates ------------------------------------------------------------------------------------------

  private setConnection(connection: Snapshot["connection"]): void {
    this.connection = connection;
    this.updates.changed();
  }

  private refresh(): void {
    const unanswered = [...this.waiting.values()].map((each) => each.frame);
    const { last } = this;
    this.last = {
      view: this.reducer.view(),
      connection: this.connection,
      unanswered: isSame(unanswered, last.unanswered) ? last.unanswered : unanswered,
      error: this.closedBy,
      capabilities: this.info?.capabilities,
      limits: this.info?.limits,
    };
  }
}

function closedHere(): Closed {
  return new Closed("CLOSED", "The conversation was closed here.", 1000);
}
