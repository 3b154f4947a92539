// The parts of a view while it is built, and how they are rendered.
//
// Each rendered part is cached until it changes. So rendering costs only as much as has changed,
// and an unchanged part is the same object: a front end can compare by identity.
import type { BlockView, MessageView, RequestView, ResultView, ToolView } from "../generated/types.js";
import { isSame } from "./sharing.js";

/** The tool call of the sub-agent; undefined: the agent itself. */
export type Voice = string | undefined;

export type BlockStatus = BlockView["status"];

/** Maximum depth of nested sub-agents; deeper ones are shown at the top level. */
const DEEPEST = 32;

/** A block, growing or final. */
export class BlockBuilder {
  status: BlockStatus;
  /** The number of the last piece, if pieces are counted. */
  number = 0;
  drawn: BlockView | undefined;
  #grown: string | undefined;

  constructor(
    readonly message: MessageBuilder,
    readonly index: number,
    /** The start of the block, or the whole block. */
    public whole: BlockView,
    /** Whether the block is finished. */
    readonly final: boolean,
  ) {
    this.status = final ? whole.status : "streaming";
  }

  /** The text that was appended after the start. */
  get text(): string | undefined {
    return this.#grown;
  }

  /**
   * Appends text. Engines join such strings only when they are read, so the cost does not grow with
   * the length.
   */
  append(text: string): void {
    this.#grown = (this.#grown ?? "") + text;
    this.changed();
  }

  /** Replaces the block and the appended text. */
  replace(whole: BlockView): void {
    this.whole = whole;
    this.#grown = undefined;
    this.changed();
  }

  setStatus(status: BlockStatus): void {
    this.status = status;
    this.changed();
  }

  changed(): void {
    this.drawn = undefined;
    this.message.drawn = undefined;
  }
}

/** An assistant message, growing or final. */
export class MessageBuilder {
  readonly blocks = new Map<number, BlockBuilder>();
  hasPlace = false;
  /** Whether a block of it is finished. */
  isTold = false;
  /** Whether it will not stream again. */
  hasEnded = false;
  /** Whether a call in it has a sub-agent with messages. */
  nests = false;
  /** The attributes from later entries, while older ones are added. */
  later: MessageView | undefined;
  drawn: MessageView | undefined;
  #open = false;

  constructor(
    /** All attributes but the blocks. */
    public about: MessageView,
    /** The position among the placed or among the unplaced messages. */
    public order: number,
  ) {}

  /** Whether it is streaming, even if all its blocks are finished. */
  get isOpen(): boolean {
    return this.#open;
  }

  set isOpen(open: boolean) {
    this.#open = open;
    this.drawn = undefined;
  }

  /** Returns the blocks in their order. */
  sorted(): BlockBuilder[] {
    const blocks = [...this.blocks.values()];
    return blocks.length > 1 ? blocks.sort((one, other) => one.index - other.index) : blocks;
  }
}

/** The state of a tool call, which may be known before the call itself. */
export class Card {
  request: RequestView | undefined;
  result: ResultView | undefined;
  elapsed: number | undefined;
  output: string | undefined;
  /** The blocks that show it. */
  readonly homes = new Set<BlockBuilder>();

  changed(): void {
    for (const block of this.homes) block.changed();
  }
}

/** The messages of one voice. */
export interface Speech {
  /** In the order of their positions. */
  placed: { order: number; message: MessageView | MessageBuilder }[];
  /** Older messages, only while older entries are added. */
  older: { order: number; message: MessageView | MessageBuilder }[];
  /** Messages without a finished block, by their order. */
  unplaced: Map<number, MessageBuilder>;
  /** By id. */
  messages: Map<string, MessageBuilder>;
  /** Growing blocks, by id. */
  growing: Map<string, BlockBuilder>;
}

interface Drawn {
  hasPlace: boolean;
  order: number;
  view: MessageView;
}

/** Returns the current messages, those of each sub-agent inside of its tool call. */
export function draw(speeches: Map<Voice, Speech>, cards: Map<string, Card>): MessageView[] {
  return new Drawing(speeches, cards).messages();
}

class Drawing {
  readonly #left: Map<Voice, Speech>;

  readonly #cards: Map<string, Card>;

  constructor(speeches: Map<Voice, Speech>, cards: Map<string, Card>) {
    this.#cards = cards;
    this.#left = new Map(speeches);
  }

  /** Returns all messages. A voice whose tool call is not shown appears at the top level. */
  messages(): MessageView[] {
    const top = [...this.#left.keys()].filter((voice) => voice === undefined || !this.#isShown(voice));
    const drawn = top.flatMap((voice) => this.#speech(voice, 0));
    let voices = top.length;
    for (const voice of this.#left.keys()) {
      // Nested too deeply, or in a cycle of calls.
      drawn.push(...this.#speech(voice, 0));
      voices += 1;
    }
    if (voices > 1) drawn.sort(byPlace);
    return drawn.map((each) => each.view);
  }

  #isShown(toolUseId: string): boolean {
    return (this.#cards.get(toolUseId)?.homes.size ?? 0) > 0;
  }

  #speech(voice: Voice, depth: number): Drawn[] {
    const speech = this.#left.get(voice) as Speech;
    this.#left.delete(voice);
    const drawn: Drawn[] = [];
    for (const { order, message } of speech.placed) {
      if (!(message instanceof MessageBuilder)) {
        drawn.push({ hasPlace: true, order, view: message });
      } else if (message.blocks.size || message.isOpen) {
        drawn.push({ hasPlace: true, order, view: this.#message(message, depth) });
      }
    }
    for (const [order, message] of speech.unplaced) {
      drawn.push({ hasPlace: false, order, view: this.#message(message, depth) });
    }
    return drawn;
  }

  #message(message: MessageBuilder, depth: number): MessageView {
    const last = message.drawn;
    // A message with sub-agents must be checked again, because their messages may have changed.
    if (last && !message.nests) return last;
    const blocks = message.sorted().map((block) => this.#block(block, depth));
    if (last && isSame(last.blocks, blocks)) return last;
    const drawn: MessageView = { ...message.about, blocks };
    if (message.isOpen || blocks.some((block) => block.status === "streaming" || block.status === "frozen")) {
      drawn.streaming = true;
    }
    message.drawn = drawn;
    return drawn;
  }

  #block(block: BlockBuilder, depth: number): BlockView {
    if (block.whole.type === "tool") return this.#tool(block, block.whole, depth);
    block.drawn ??= block.final ? block.whole : grownBlock(block);
    return block.drawn;
  }

  #tool(block: BlockBuilder, call: ToolView, depth: number): ToolView {
    const messages =
      this.#left.has(call.id) && depth < DEEPEST
        ? this.#speech(call.id, depth + 1).map((each) => each.view)
        : [];
    const last = block.drawn as ToolView | undefined;
    if (last && isSame(last.messages ?? [], messages)) return last;
    const card = this.#cards.get(call.id);
    const drawn: ToolView = { ...call, status: block.status };
    if (block.text !== undefined) drawn.input_text = (call.input_text ?? "") + block.text;
    if (card?.request) drawn.request = card.request;
    if (card?.output) drawn.output = card.output;
    if (card?.elapsed !== undefined) drawn.elapsed_seconds = card.elapsed;
    if (card?.result) drawn.result = card.result;
    if (messages.length) drawn.messages = messages;
    block.drawn = drawn;
    return drawn;
  }
}

function grownBlock(block: BlockBuilder): BlockView {
  const { whole, status } = block;
  if (whole.type === "text" || whole.type === "thinking") {
    return { ...whole, status, text: whole.text + (block.text ?? "") };
  }
  return { ...whole, status };
}

function byPlace(one: Drawn, other: Drawn): number {
  if (one.hasPlace !== other.hasPlace) return one.hasPlace ? -1 : 1;
  return one.order - other.order;
}
