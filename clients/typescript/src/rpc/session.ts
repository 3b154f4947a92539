// One conversation over RPC, across reconnects (docs/reference/protocol/rpc.md, section 6).

import { tooLarge, written } from "../connection/encoding.js";
import {
  FollowedConversation,
  type FollowedSnapshot,
  type OpenConversations,
  type Waiting,
} from "../connection/followed_conversation.js";
import type { Opening } from "../connection/reconnecting_socket.js";
import type { Transport } from "../connection/transport.js";
import { type Closed, Refused, TurnwireError } from "../errors.js";
import type {
  ErrorPayload,
  OpenRequest,
  RpcCalls,
  RpcCapabilities,
  RpcConnect,
  RpcConnected,
  RpcHistory,
  RpcPermissionReply,
  RpcQueryWithContent,
  RpcQuestionReply,
  RpcSessions,
  RpcStopped,
  View,
} from "../generated/types.js";
import type { Http } from "../http.js";
import { newId } from "../ids.js";
import { integer, type Json, object } from "../lenient.js";
import { defined } from "../view/defined.js";
import { sameOr } from "../view/sharing.js";
import { readRpcMessage, Transcript } from "./transcript.js";
import { RpcTurn } from "./turn.js";

/** The conversation, and the options of the connection. Without a `conversation`, a new one. */
export type RpcOptions = Omit<RpcConnect, "last_sequence" | "epoch">;

export interface RpcSnapshot extends FollowedSnapshot {
  /** The id of the conversation, as soon as it is known. */
  readonly id?: string | undefined;
  /** The open questions and permissions. */
  readonly requests: readonly OpenRequest[];
  /** The features of the agent. */
  readonly capabilities?: RpcCapabilities | undefined;
}

/** The result of each method. */
export interface RpcResults {
  interrupt: RpcStopped;
  getHistory: RpcHistory;
  loadHistory: RpcHistory;
  getHistorySessions: RpcSessions;
  getCapabilities: RpcCapabilities;
  forgetRule: { rule_id: string };
  setAgent: { agent: string };
  setModel: { model: string | null };
  setPermissionMode: { mode: string };
  setMaxThinkingTokens: unknown;
  getMcpStatus: unknown;
  reconnectMcp: unknown;
  rewindFiles: unknown;
}

interface Call extends Waiting {
  method: string;
  params: object;
  /** The turn of a query. */
  turn?: RpcTurn;
}

interface Asked {
  request: OpenRequest;
  /** The id of the server's call on this connection. */
  callId?: string;
  reply?: Waiting & { result: object; accept(): void };
}

export class RpcSession extends FollowedConversation<RpcSnapshot, Call> {
  readonly #transcript = new Transcript();
  readonly #asked = new Map<string, Asked>();
  #connected: RpcConnected | undefined;
  #connectId = "";
  #count = 0;
  /** The turn of growing messages, which do not name their turn. */
  #runningTurn: number | undefined;
  #requests: readonly OpenRequest[] = [];

  readonly #options: RpcOptions;

  constructor(http: Http, transport: Transport, open: OpenConversations, options: RpcOptions = {}) {
    super(http, transport, open);
    // The id makes the retry safe: it returns the same new conversation if the answer was lost.
    this.#options = options.conversation ? options : { client_message_id: newId(), ...options };
  }

  /** Returns the id of the conversation, as soon as it is known. */
  get id(): string | undefined {
    return this.#connected?.conversation ?? this.#options.conversation ?? undefined;
  }

  view(): View {
    return this.#transcript.view();
  }

  // --- commands -----------------------------------------------------------------------------------------

  /**
   * Sends a message; iterate over the messages of its turn. It is executed once, even after
   * reconnects. With `steer` it goes into the running turn, whose messages belong to the query that
   * began it: this iteration then ends without any.
   */
  readonly query = (
    prompt: string | RpcQueryWithContent["content"],
    clientMessageId: string = newId(),
    steer = false,
  ): RpcTurn => {
    const turn = new RpcTurn();
    const said = typeof prompt === "string" ? { prompt } : { content: prompt };
    const method = typeof prompt === "string" ? "query" : "queryWithContent";
    this.#make({
      method,
      params: { ...said, client_message_id: clientMessageId, ...(steer && { steer }) },
      accept: (accepted) => turn.taken(accepted),
      refuse: (error) => turn.end(error),
      turn,
    });
    return turn;
  };

  /** Calls any other method. Rejects with Refused or Closed. */
  readonly call = <M extends keyof RpcResults>(method: M, params: RpcCalls[M]): Promise<RpcResults[M]> =>
    new Promise((accept, refuse) => this.#make({ method, params, accept, refuse }));

  /** Interrupts a turn: the running one, unless another is named. */
  readonly interrupt = (turnId?: number): Promise<RpcStopped> => {
    const running = [...this.waiting.values()].find((call) => call.turn?.turnId !== undefined);
    const turn_id = turnId ?? running?.turn?.turnId;
    return this.call("interrupt", turn_id === undefined ? {} : { turn_id });
  };

  /** Answers a question. */
  readonly answer = (requestId: string, answer: RpcQuestionReply["answer"]): Promise<void> =>
    this.#reply(requestId, { answer });

  /** Allows or denies a tool call. */
  readonly decide = (
    requestId: string,
    decision: RpcPermissionReply["decision"],
    more: Omit<RpcPermissionReply, "decision"> = {},
  ): Promise<void> => this.#reply(requestId, { ...more, decision });

  #make(call: Call): void {
    if (this.closedBy) return call.refuse(this.closedBy);
    this.connect();
    this.#put(call);
  }

  /** Sends a call under a new id of this connection; waits until `connect` is answered. */
  #put(call: Call): void {
    this.#count += 1;
    const id = `${this.#count}`;
    this.waiting.set(id, call);
    if (this.connection !== "connected") return;
    const refused = this.#send({ id, method: call.method, params: call.params });
    if (!refused) return;
    this.waiting.delete(id);
    call.refuse(refused);
  }

  /** Sends a frame. The size limit is known only after `connect` is answered. */
  #send(frame: object): Refused | undefined {
    const raw = written(frame);
    const refused = tooLarge(raw, this.#connected?.max_frame_bytes);
    if (!refused) this.line.send(raw);
    return refused;
  }

  #reply(requestId: string, result: object): Promise<void> {
    const asked = this.#asked.get(requestId);
    if (!asked) return Promise.reject(overAlready());
    return new Promise((accept, refuse) => {
      asked.reply = { result, accept, refuse };
      this.#sendReply(asked);
    });
  }

  #sendReply(asked: Asked): void {
    const { callId, reply } = asked;
    const refused = callId && reply && this.#send({ id: callId, result: reply.result });
    if (!refused) return;
    delete asked.reply; // another answer may follow
    reply.refuse(refused);
  }

  // --- the connection -----------------------------------------------------------------------------------------

  protected opening(): Promise<Opening> {
    return this.openingAt("turnwire.rpc", "/ws/rpc");
  }

  protected begin(): void {
    this.#count += 1;
    this.#connectId = `${this.#count}`;
    this.#send({ id: this.#connectId, method: "connect", params: this.#place() });
  }

  /** Returns the parameters of `connect`: creates a conversation once, and resumes it later. */
  #place(): RpcConnect {
    const known = this.#connected;
    if (!known) return this.#options;
    const { tail, tool_progress, system_messages, include_partial_messages } = this.#options;
    return defined<RpcConnect>({
      conversation: known.conversation,
      last_sequence: this.#transcript.cursor,
      epoch: known.epoch,
      tail,
      tool_progress,
      system_messages,
      include_partial_messages,
    });
  }

  /** Does nothing: the server sends heartbeats and answers pings. */
  protected beat(): void {}

  protected hear(value: unknown): void {
    const frame = object(value) ?? {};
    const id = `${frame.id}`;
    if ("method" in frame) this.#called(id, frame.params);
    else if (frame.type === "stream") this.#streamed(id, frame);
    else if (frame.type === "complete" || frame.type === "cancel") this.#over(id, frame.type === "cancel");
    else if ("error" in frame) this.#answered(id, frame);
  }

  #answered(id: string, { result, error }: Json): void {
    const refused: Partial<ErrorPayload> | undefined = object(error);
    if (id === this.#connectId) {
      if (!refused) return this.#come(result as RpcConnected);
      this.note(refused);
      return refused.retryable ? this.line.drop() : this.end(4500);
    }
    const call = this.waiting.get(id);
    const asked = this.#askedBy(id);
    if (call) {
      if (refused || !call.turn) this.waiting.delete(id);
      if (refused) call.refuse(new Refused(refused));
      else call.accept(result as never);
    } else if (asked) {
      asked.reply?.refuse(new Refused(refused ?? {}));
      delete asked.reply; // another answer may follow
    } else {
      this.note(refused);
    }
  }

  /** Handles the answer to `connect`: resends all calls without an answer. */
  #come(now: RpcConnected): void {
    this.#connected = now;
    this.#transcript.connected(Boolean(now.reset));
    this.#runningTurn = now.status.turn_id;
    this.line.expectEvery(now.heartbeat_seconds);
    this.note(undefined);
    this.connection = "connected";
    this.#keepOpen(now.status.requests);
    const waiting = [...this.waiting.values()];
    this.waiting.clear();
    for (const call of waiting) {
      // The running turn may have changed: a late interrupt must not end the next one.
      if (call.method === "interrupt" && !("turn_id" in call.params)) call.refuse(lost());
      else this.#put(call);
    }
  }

  #streamed(id: string, { data, sequence: number, turn_id }: Json): void {
    const message = readRpcMessage(data);
    const [sequence, turnId] = [integer(number), integer(turn_id)];
    this.#transcript.apply(message, sequence, turnId);
    const own = this.waiting.get(id)?.turn;
    // Missed and repeated messages of a turn come under the id of `connect`.
    const meant = turnId ?? this.#runningTurn;
    const calls = own ? [] : [...this.waiting.values()];
    const turn = own ?? calls.find((call) => call.turn && call.turn.turnId === meant)?.turn;
    turn?.tell(message, sequence, turnId);
  }

  // --- calls of the server ------------------------------------------------------------------------------

  #called(callId: string, params: unknown): void {
    const request = params as OpenRequest;
    const asked = this.#asked.get(request.request_id) ?? { request };
    asked.callId = callId;
    this.#asked.set(request.request_id, asked);
    this.#sendReply(asked);
  }

  /** Ends a stream, or a call of the server that this or another client has answered. */
  #over(id: string, isCancelled: boolean): void {
    this.waiting.get(id)?.turn?.end();
    this.waiting.delete(id);
    const asked = this.#askedBy(id);
    if (!asked) return;
    this.#asked.delete(asked.request.request_id);
    if (isCancelled) asked.reply?.refuse(overAlready());
    else asked.reply?.accept();
  }

  /**
   * Keeps the requests that are still open. The server calls again for them on a new connection.
   */
  #keepOpen(requests: OpenRequest[]): void {
    const open = new Map(requests.map((request) => [request.request_id, request]));
    for (const [id, { reply }] of this.#asked) {
      if (open.has(id)) continue;
      reply?.refuse(lost());
      this.#asked.delete(id);
    }
    for (const [id, request] of open) {
      const { reply } = this.#asked.get(id) ?? {};
      this.#asked.set(id, reply ? { request, reply } : { request });
    }
  }

  #askedBy(callId: string): Asked | undefined {
    return [...this.#asked.values()].find((asked) => asked.callId === callId);
  }

  // --- the end ------------------------------------------------------------------------------------------

  protected override rejectAll(error: Closed): void {
    super.rejectAll(error);
    for (const { reply } of this.#asked.values()) reply?.refuse(error);
    this.#asked.clear();
  }

  protected look(): RpcSnapshot {
    const requests = [...this.#asked.values()].map((each) => each.request);
    this.#requests = sameOr(this.#requests, requests);
    return {
      view: this.view(),
      connection: this.connection,
      error: this.closedBy,
      id: this.id,
      requests: this.#requests,
      capabilities: this.#connected?.capabilities,
    };
  }
}

function lost(): TurnwireError {
  return new TurnwireError(
    "LOST",
    "The connection was lost before the answer came. Read the conversation to see the result.",
  );
}

/** The error for a request that another client answered, that was withdrawn, or never existed. */
function overAlready(): Refused {
  return new Refused({ code: "INVALID_QUESTION_ID", message: "Not asked any more." });
}
