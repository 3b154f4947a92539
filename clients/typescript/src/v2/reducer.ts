// The client side of protocol v2: reduces frames to the view of a conversation. The rules are in
// section 11 of docs/reference/protocol/v2.md, and fixtures/reducer holds frames and their views.
import type { ServerFrame, View } from "../generated/types.js";
import { integer, object } from "../lenient.js";
import { ViewBuilder } from "../view/builder.js";
import { defined } from "../view/defined.js";
import * as shown from "./frame_views.js";
import type { FrameOf, KnownFrame } from "./frames.js";

type BlockFrame = FrameOf<
  "assistant.chunk" | "assistant.thinking" | "assistant.tool_call" | "assistant.block"
>;

/** Reduces the frames of all connections, in order, to a `view`. */
export class ViewReducer {
  #build = new ViewBuilder();
  #connection: string | undefined;
  /** `sequence` of the last frame of this connection. */
  #sequence = 0;
  #isPast = false;

  /** Returns the whole view. Unchanged parts are the same objects as before. */
  view(): View {
    return this.#build.view();
  }

  /** The number of the last applied entry. */
  get cursor(): number {
    return this.#build.cursor;
  }

  /** The epoch of the applied entries. */
  get epoch(): string | undefined {
    return this.#build.epoch;
  }

  /** The number of the first entry in the view. */
  get first(): number {
    return this.#build.first;
  }

  /** Whether an entry is missing: then the client must reconnect. */
  get behind(): boolean {
    return this.#build.behind;
  }

  /** Applies one server frame, as `readFrame` returns it. */
  apply(frame: ServerFrame): void {
    if (frame.type === "unknown") {
      this.#unknown(frame.data);
    } else if (frame.type === "session.connected" || frame.type === "session.resumed") {
      this.#connect(frame);
    } else if (this.#isNew(frame.sequence)) {
      this.#handle(frame);
    }
  }

  /**
   * Adds older entries of the log from `first` on, up to the first one in the view, as they were
   * first sent.
   */
  prepend(first: number, entries: readonly ServerFrame[]): void {
    this.#isPast = true;
    try {
      this.#build.before(first, entries.length, () => {
        for (const frame of entries) if (frame.type !== "unknown") this.#kept(frame);
      });
    } finally {
      this.#isPast = false;
    }
  }

  #isNew(sequence: number | null | undefined): boolean {
    if (sequence == null) return true;
    if (sequence <= this.#sequence) return false;
    this.#sequence = sequence;
    return true;
  }

  #handle(frame: KnownFrame): void {
    switch (frame.type) {
      case "message.replay":
        return this.#replay(frame);
      case "session.reset":
        return this.#begin(frame.payload.epoch, frame.payload.first);
      case "session.state":
        return this.#build.setStatus(frame.payload);
      case "conversation.updated":
        return this.#build.tell(frame.payload.title, frame.payload.totals);
      case "assistant.tool_progress": {
        const { tool_use_id, output, elapsed_seconds } = frame.payload;
        return this.#build.progress(tool_use_id, output, elapsed_seconds);
      }
      case "assistant.discarded":
        for (const blockId of frame.payload.block_ids) {
          this.#build.discard(frame.payload.parent_tool_use_id, blockId);
        }
        return;
      default:
        return this.#kept(frame);
    }
  }

  /** Applies a frame that can be replayed. Other frames change nothing. */
  #kept(frame: KnownFrame): void {
    switch (frame.type) {
      case "assistant.chunk":
      case "assistant.thinking":
      case "assistant.tool_call":
      case "assistant.block":
        return this.#block(frame);
      case "user.message":
        if (this.#takes(frame.payload.message_sequence)) this.#build.add(shown.userMessage(frame));
        return;
      case "assistant.tool_result":
        return this.#toolResult(frame);
      case "assistant.request_input":
        return this.#requestInput(frame);
      case "assistant.permission_request":
        if (this.#takes(frame.payload.message_sequence)) {
          this.#build.ask(shown.openPermission(frame.payload, frame.turn_id));
        }
        return;
      case "assistant.request_resolved":
        return this.#requestResolved(frame);
      case "assistant.complete":
        if (frame.turn_id !== null) this.#build.endTurn(frame.turn_id, frame.payload);
        return;
      case "conversation.interrupted":
        if (this.#takes(frame.payload.message_sequence)) {
          this.#build.add(shown.interruption(frame));
        }
        return;
      case "session.system_event":
        return this.#systemEvent(frame);
    }
  }

  // --- connections and the log ----------------------------------------------------------------------

  #connect(frame: FrameOf<"session.connected" | "session.resumed">): void {
    const build = this.#build;
    const { connection_id, epoch, first } = frame.payload;
    if (connection_id === this.#connection) return; // the first frame of this connection was repeated
    this.#connection = connection_id;
    this.#sequence = frame.sequence ?? 0;
    build.behind = false;
    if (build.epoch !== undefined && build.epoch !== epoch) {
      this.#begin(epoch, first);
      return;
    }
    build.forgetGrowing();
    if (build.cursor) build.epoch = epoch;
    else this.#beginAt(epoch, first); // no entry was applied yet
  }

  /** Clears the view. */
  #begin(epoch: string, first: number): void {
    this.#build = new ViewBuilder();
    this.#beginAt(epoch, first);
  }

  #beginAt(epoch: string, first: number): void {
    const build = this.#build;
    build.epoch = epoch;
    build.first = first;
    build.cursor = first - 1;
  }

  #replay(frame: FrameOf<"message.replay">): void {
    const { event, message_sequence } = frame.payload;
    if (event.type === "unknown") this.#takes(message_sequence);
    else this.#kept(event);
  }

  /** Applies the numbers of an unknown frame, so that the next entry is no gap. */
  #unknown(data: unknown): void {
    const frame = object(data);
    const number = object(frame?.payload)?.message_sequence;
    if (this.#isNew(integer(frame?.sequence))) this.#takes(integer(number));
  }

  /** Whether this entry is the next one. A frame without a number always is. */
  #takes(number: number | null | undefined): boolean {
    if (number == null || this.#isPast) return true;
    const build = this.#build;
    if (number === build.cursor + 1) {
      build.cursor = number;
      return true;
    }
    build.behind ||= number > build.cursor;
    return false;
  }

  // --- blocks -----------------------------------------------------------------------------------------

  #block(frame: BlockFrame): void {
    const block = frame.payload;
    if (!block.partial) this.#finished(frame);
    else if (block.snapshot) this.#snapshot(frame);
    else this.#piece(frame);
  }

  #piece(frame: BlockFrame): void {
    const { chunk_seq: number, index, message_id, parent_tool_use_id } = frame.payload;
    if (number === undefined) return;
    const begun = shown.begun(frame);
    let grown = this.#build.find(parent_tool_use_id, message_id)?.blocks.get(index);
    if (grown?.final) return;
    if (grown?.whole.id !== begun.id) {
      // An index may be used again.
      grown = this.#build.start(this.#build.message(shown.about(frame)), index, begun);
    } else if (grown.status === "frozen" || grown.whole.type !== begun.type) {
      return;
    }
    if (number === grown.number + 1) {
      grown.number = number;
      if (frame.type === "assistant.block") grown.replace(begun);
      else grown.append(pieceOf(frame));
    } else if (number > grown.number) {
      grown.setStatus("frozen");
    }
  }

  #snapshot(frame: BlockFrame): void {
    const { chunk_seq: number, index } = frame.payload;
    if (number === undefined) return;
    const message = this.#build.message(shown.about(frame));
    const grown = message.blocks.get(index);
    if (!grown || !(grown.final || number < grown.number)) {
      this.#build.start(message, index, shown.whole(frame)).number = number;
    }
  }

  #finished(frame: BlockFrame): void {
    const { message_sequence: number, index } = frame.payload;
    if (!this.#takes(number)) return;
    const error = frame.type === "assistant.chunk" ? frame.payload.error : undefined;
    const about = shown.about(frame, number, error);
    this.#build.finish(this.#build.message(about), index, shown.whole(frame), about);
  }

  // --- tools and requests -------------------------------------------------------------------------------

  #toolResult(frame: FrameOf<"assistant.tool_result">): void {
    const { tool_use_id, content, is_error, details, blob, details_blob, message_sequence } = frame.payload;
    if (!this.#takes(message_sequence)) return;
    this.#build.result(tool_use_id, defined({ content, is_error, details, blob, details_blob }));
  }

  #requestInput(frame: FrameOf<"assistant.request_input">): void {
    const asked = frame.payload;
    if (!this.#takes(asked.message_sequence)) return;
    const about = shown.about(frame, asked.message_sequence);
    this.#build.finish(this.#build.message(about), asked.index, shown.question(asked), about);
    this.#build.ask(shown.openQuestion(asked, frame.turn_id));
  }

  #requestResolved(frame: FrameOf<"assistant.request_resolved">): void {
    const { request_id, outcome, by, answer, decision, reason, updated_input, message_sequence } =
      frame.payload;
    if (!this.#takes(message_sequence)) return;
    this.#build.resolve(request_id, defined({ outcome, by, answer, decision, reason, updated_input }));
  }

  #systemEvent(frame: FrameOf<"session.system_event">): void {
    const { subtype, data, message_sequence: number } = frame.payload;
    if (number === undefined || !this.#takes(number)) return;
    if (subtype !== "plan") this.#build.add(shown.news(frame, number));
    else {
      const items = object(data)?.items;
      if (Array.isArray(items)) this.#build.setPlan(items);
    }
  }
}

function pieceOf(frame: Exclude<BlockFrame, FrameOf<"assistant.block">>): string {
  return frame.type === "assistant.tool_call" ? (frame.payload.input_text ?? "") : frame.payload.text;
}
