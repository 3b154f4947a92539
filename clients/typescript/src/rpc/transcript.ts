// The client side of RPC: reduces messages to the view of a conversation. The rules are in section
// 5 of docs/reference/protocol/rpc.md, and fixtures/reducer holds messages and their views.
import type {
  MessageView,
  RpcAssistantMessage,
  RpcBlock,
  RpcDelta,
  RpcMessage,
  RpcMessageContent,
  RpcResultMessage,
  RpcStreamEvent,
  RpcUserMessage,
  TurnEnd,
  TurnError,
  View,
} from "../generated/types.js";
import { readUnion } from "../lenient.js";
import { ViewBuilder } from "../view/builder.js";
import { defined } from "../view/defined.js";
import type { BlockBuilder, MessageBuilder, Voice } from "../view/view_parts.js";
import { isOfKind, shownBlock } from "./block_views.js";
import { RecentNames } from "./recent_names.js";

/** Number of remembered user messages; a duplicate arrives soon after the original, or never. */
const REMEMBERED = 4096;

/** A prefix that no agent uses for its ids. */
const NAMELESS = "nameless-";

/** Reads an RPC message. An unknown one becomes `unknown`. */
export function readRpcMessage(value: unknown): RpcMessage {
  return readUnion("RpcMessage", value) as unknown as RpcMessage;
}

/** Reduces RPC messages, in order, to a `view`. */
export class Transcript {
  #build = new ViewBuilder();
  /** One for the agent, and one for each sub-agent. */
  readonly #streaming = new Map<Voice, MessageBuilder>();
  #seen = new RecentNames(REMEMBERED);
  #results = new RecentNames(REMEMBERED);
  #last: RpcStreamEvent | undefined;
  /** Of the running turn. */
  #error: TurnError | undefined;
  /** Whether content arrived after the last turn ended. */
  #hasNews = false;
  #users = 0;
  #nameless = 0;

  /** Returns the whole view. Unchanged parts are the same objects as before. */
  view(): View {
    return this.#build.view();
  }

  /** The greatest number of a message so far. */
  get cursor(): number {
    return this.#build.cursor;
  }

  /** Starts another connection, which repeats unfinished messages; `isReset` clears the view. */
  connected(isReset = false): void {
    if (isReset) {
      this.#build = new ViewBuilder();
      this.#seen = new RecentNames(REMEMBERED);
      this.#results = new RecentNames(REMEMBERED);
      this.#error = undefined;
      this.#hasNews = false;
      this.#users = this.#nameless = 0;
    } else {
      this.#build.forgetGrowing();
      for (const message of this.#streaming.values()) this.#close(message);
    }
    this.#streaming.clear();
    this.#last = undefined;
  }

  /** Applies one message, with its number and its turn if the frame has them (section 5.1). */
  apply(message: RpcMessage, sequence?: number, turnId?: number): void {
    if (this.#isRepeat(message, sequence)) return;
    switch (message.type) {
      case "stream_event":
        return this.#streamEvent(message);
      case "assistant":
        return this.#assistant(message, sequence);
      case "user":
        return this.#user(message, sequence);
      case "result":
        return this.#result(message, turnId);
      case "error":
        this.#error = { code: message.code || "error", message: message.message };
    }
  }

  /**
   * Whether the number, a user message's uuid, or the last stream event repeats. The uuid of a
   * stream event only counts on one connection, so an older uuid proves nothing.
   */
  #isRepeat(message: RpcMessage, sequence: number | undefined): boolean {
    if (sequence !== undefined) {
      if (sequence <= this.#build.cursor) return true;
      this.#build.cursor = sequence;
    }
    if (message.type === "stream_event") {
      const before = this.#last;
      this.#last = message;
      return before?.uuid === message.uuid && JSON.stringify(before) === JSON.stringify(message);
    }
    return message.type === "user" && message.uuid !== undefined && !this.#seen.isNew(message.uuid);
  }

  // --- section 5.2: stream events ---------------------------------------------------------------------

  #streamEvent(message: RpcStreamEvent): void {
    const { event, parent_tool_use_id: voice } = message;
    if (event.type === "message_start") {
      this.#start(event.message ?? {}, voice, message.agent_id);
      return;
    }
    const isDelta = event.type === "content_block_delta";
    if (isDelta && event.tool_use_id) {
      this.#output(event.tool_use_id, event.delta);
      return;
    }
    const streaming = this.#streaming.get(voice);
    if (!streaming || (streaming.hasEnded && !isDelta)) return;
    switch (event.type) {
      case "content_block_start":
        if (!streaming.blocks.has(event.index)) {
          const id = `${streaming.about.id}:${event.index}`;
          this.#build.start(streaming, event.index, shownBlock(event.content_block, id, "streaming"));
        }
        return;
      case "content_block_delta": {
        const target = streaming.blocks.get(event.index);
        if (target) this.#delta(target, event.delta);
        return;
      }
      case "content_block_stop": {
        const ended = streaming.blocks.get(event.index);
        if (ended) settle(ended);
        return;
      }
      case "message_stop":
        this.#stop(streaming, voice, event.discarded_from);
    }
  }

  #start(body: RpcMessageContent, voice: Voice, agentId: string | undefined): void {
    const streaming =
      (body.id ? this.#build.find(voice, body.id) : undefined) ??
      this.#build.message(
        defined<MessageView>({
          id: this.#name(body),
          role: "assistant",
          blocks: [],
          model: body.model,
          parent_tool_use_id: voice,
          agent_id: agentId,
        }),
      );
    const before = this.#streaming.get(voice);
    if (before && before !== streaming) this.#close(before);
    this.#streaming.set(voice, streaming);
    if (streaming.hasEnded) return; // a replay does not reopen it
    streaming.isOpen = true;
    // The message started again on another connection, which repeats its unfinished blocks.
    this.#discard(streaming, 0);
  }

  /** Adds the output of a running tool to its call, whichever message is streaming now. */
  #output(toolUseId: string, delta: RpcDelta): void {
    if (delta.type === "text_delta") this.#build.progress(toolUseId, delta.text);
    else if (delta.type === "output_delta") this.#build.progress(toolUseId, delta.output);
  }

  #delta(target: BlockBuilder, delta: RpcDelta): void {
    const block = target.whole.type;
    if (block === "tool" && delta.type !== "input_json_delta") {
      this.#output(target.whole.id, delta);
    } else if (target.status !== "streaming") {
      return; // the block is finished
    } else if (delta.type === "text_delta" && block === "text") {
      target.append(delta.text);
    } else if (delta.type === "thinking_delta" && block === "thinking") {
      target.append(delta.thinking);
    } else if (delta.type === "input_json_delta" && block === "tool") {
      target.append(delta.partial_json);
    }
  }

  #stop(message: MessageBuilder, voice: Voice, voidFrom: number | undefined): void {
    message.hasEnded = true;
    if (voidFrom !== undefined) this.#discard(message, voidFrom);
    this.#close(message);
    if (!message.blocks.size) {
      message.hasEnded = false; // the message may start again
      this.#streaming.delete(voice);
    }
  }

  /** Ends the streaming of a message, and keeps its position. */
  #close(message: MessageBuilder): void {
    message.isOpen = false;
    for (const block of message.blocks.values()) settle(block);
    if (message.blocks.size) this.#build.place(message);
    else this.#build.dropIfEmpty(message);
  }

  #discard(message: MessageBuilder, voidFrom: number): void {
    for (const block of [...message.blocks.values()]) {
      if (block.index >= voidFrom && !block.final) {
        this.#build.discard(message.about.parent_tool_use_id, block.whole.id);
      }
    }
  }

  // --- section 5.4: finished messages -------------------------------------------------------------------

  /** Replaces streamed blocks by finished ones; the streamed message keeps its id. */
  #assistant(said: RpcAssistantMessage, sequence: number | undefined): void {
    const { message: body, parent_tool_use_id: voice } = said;
    const content = body.content ?? [];
    let message = body.id ? this.#build.find(voice, body.id) : undefined;
    if (!message) {
      message = this.#waiting(body.id, voice);
      if (message && body.id && content.length) this.#build.call(message, body.id);
    }
    const about = defined<MessageView>({
      id: message?.about.id ?? this.#name(body),
      role: "assistant",
      blocks: [],
      sequence,
      model: body.model || message?.about.model,
      error: said.error,
      parent_tool_use_id: voice,
      agent_id: said.agent_id,
    });
    const target = message ?? this.#build.message(about);
    const status = said.aborted ? "aborted" : "complete";
    content.forEach((block, offset) => {
      const index = body.index === undefined ? placeOf(target, block) : body.index + offset;
      this.#hasNews ||= !target.blocks.get(index)?.final;
      this.#build.finish(target, index, shownBlock(block, `${target.about.id}:${index}`, status), about);
    });
    this.#build.dropIfEmpty(target);
  }

  /** Returns the streamed message of a finished one, if they cannot be matched by id. */
  #waiting(messageId: string | undefined, voice: Voice): MessageBuilder | undefined {
    const message = this.#streaming.get(voice);
    if (!message || (messageId !== undefined && !message.about.id.startsWith(NAMELESS))) {
      return undefined;
    }
    const blocks = [...message.blocks.values()];
    return !blocks.length || blocks.some((block) => !block.final) ? message : undefined;
  }

  #name(body: RpcMessageContent): string {
    if (body.id) return body.id;
    this.#nameless += 1;
    return `${NAMELESS}${this.#nameless}`;
  }

  // --- section 5.3: user messages -----------------------------------------------------------------------

  /** Adds each tool_result to its tool call; shows any other content as a message. */
  #user(said: RpcUserMessage, sequence: number | undefined): void {
    const rest: RpcBlock[] = [];
    for (const block of said.message.content ?? []) {
      if (block.type !== "tool_result") {
        rest.push(block);
      } else if (
        this.#build.result(block.tool_use_id, {
          content: block.content ?? null,
          is_error: block.is_error ?? false,
        })
      ) {
        this.#hasNews = true;
      }
    }
    if (!rest.length) return;
    this.#hasNews = true;
    this.#users += 1;
    const name = `user-${sequence ?? this.#users}`;
    this.#build.add(
      defined<MessageView>({
        id: name,
        role: "user",
        blocks: rest.map((block, at) => shownBlock(block, `${name}:${at}`, "complete")),
        sequence,
        origin: said.isSynthetic ? "synthetic" : said.isReplay ? "replay" : undefined,
        parent_tool_use_id: said.parent_tool_use_id,
        agent_id: said.agent_id,
        steered: said.steered_as === undefined ? undefined : true,
      }),
    );
  }

  // --- the end of a turn --------------------------------------------------------------------------------

  /**
   * Ends a turn, only once. Without a turn id, an identical result without new content before it
   * counts as a repeat.
   */
  #result(result: RpcResultMessage, turnId: number | undefined): void {
    const told = this.#error;
    const hadNews = this.#hasNews;
    this.#error = undefined;
    this.#hasNews = false;
    if (turnId === undefined && !this.#results.isNew(JSON.stringify(result)) && !hadNews) return;
    const interrupted = result.terminal_reason?.startsWith("aborted") ?? false;
    const error = told ?? (result.is_error && !interrupted ? failure(result) : undefined);
    const end = defined<TurnEnd>({
      is_error: Boolean(error),
      interrupted,
      stop_reason: result.stop_reason,
      error,
      usage: result.usage,
      cost_usd: result.cost_usd,
      duration_ms: result.duration_ms,
      structured_output: result.structured_output ?? undefined,
    });
    this.#build.endTurn(turnId ?? this.#build.turnCount + 1, end);
  }
}

function failure(result: RpcResultMessage): TurnError {
  return { code: result.subtype, message: result.errors?.join("\n") || result.result || "" };
}

/** Returns the index of a finished block without an index: by tool_use id, else by type. */
function placeOf(message: MessageBuilder, block: RpcBlock): number {
  const blocks = message.sorted();
  const there = blocks.find((each) =>
    block.type === "tool_use"
      ? each.whole.type === "tool" && each.whole.id === block.id
      : !each.final && isOfKind(each.whole, block),
  );
  return there?.index ?? (blocks.at(-1)?.index ?? -1) + 1;
}

/** Closes a block that has all its pieces, and parses the input of a tool call. */
function settle(block: BlockBuilder): void {
  if (block.status !== "streaming") return;
  block.setStatus("complete");
  const { whole, text } = block;
  if (whole.type !== "tool" || text === undefined) return;
  try {
    const input: unknown = JSON.parse(text);
    block.replace(defined({ ...whole, input: input ?? undefined }));
  } catch {
    block.replace({ ...whole, input_text: text });
  }
}
