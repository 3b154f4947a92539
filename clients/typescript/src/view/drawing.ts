// A view while it is built: its parts, and how they are drawn.
//
// Everything that is drawn is kept until it changes. So a drawing costs what has changed since the
// last one, and what has not changed is the very same object: a front end sees that at once.
import type { BlockView, MessageView, RequestView, ResultView, ToolView } from "../generated/types.js";
import { isSame } from "./sharing.js";

/** The tool call whose sub-agent speaks; undefined: the agent itself. */
export type Voice = string | undefined;

export type BlockStatus = BlockView["status"];

/** Sub-agents within sub-agents; whoever speaks further down is shown at top level. */
const DEEPEST = 32;

/** A block, growing or final. */
export class BlockBuilder {
  status: BlockStatus;
  /** The piece it reaches up to, where pieces are counted. */
  number = 0;
  drawn: BlockView | undefined;
  #grown: string | undefined;

  constructor(
    readonly message: MessageBuilder,
    readonly index: number,
    /** What it began with, or all of it. */
    public whole: BlockView,
    /** Its last word has been said. */
    readonly final: boolean,
  ) {
    this.status = final ? whole.status : "streaming";
  }

  /** What has grown since it began. */
  get text(): string | undefined {
    return this.#grown;
  }

  /** The block has grown. An engine joins such texts when they are read, so the length does not matter. */
  append(text: string): void {
    this.#grown = (this.#grown ?? "") + text;
    this.changed();
  }

  /** What has grown is a part of this by now, or replaced by it. */
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
  /** Some block of it is finished. */
  isTold = false;
  /** It will not stream again. */
  hasEnded = false;
  /** Some call in it has a sub-agent that speaks. */
  nests = false;
  /** What later entries have told of it, where older ones are put before them. */
  later: MessageView | undefined;
  drawn: MessageView | undefined;
  #open = false;

  constructor(
    /** Everything but its blocks. */
    public about: MessageView,
    /** Among the messages that have their place, or among those that have not. */
    public order: number,
  ) {}

  /** It streams, whatever its blocks say. */
  get isOpen(): boolean {
    return this.#open;
  }

  set isOpen(open: boolean) {
    this.#open = open;
    this.drawn = undefined;
  }

  /** Its blocks in their order. */
  sorted(): BlockBuilder[] {
    const blocks = [...this.blocks.values()];
    return blocks.length > 1 ? blocks.sort((one, other) => one.index - other.index) : blocks;
  }
}

/** What is known of a tool call besides the call itself, which may be still to come. */
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
  /** In the order they got their place. */
  placed: { order: number; message: MessageView | MessageBuilder }[];
  /** Those that will stand before them: only while they are told. */
  older: { order: number; message: MessageView | MessageBuilder }[];
  /** Without a finished block, by their order. */
  unplaced: Map<number, MessageBuilder>;
  /** By id. */
  messages: Map<string, MessageBuilder>;
  /** Blocks that grow, by id. */
  growing: Map<string, BlockBuilder>;
}

interface Drawn {
  hasPlace: boolean;
  order: number;
  view: MessageView;
}

/** The messages as they are now, each sub-agent's under the tool call it works for. */
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

  /** All of them. A voice whose tool call is not shown speaks at top level. */
  messages(): MessageView[] {
    const top = [...this.#left.keys()].filter((voice) => voice === undefined || !this.#isShown(voice));
    const drawn = top.flatMap((voice) => this.#speech(voice, 0));
    let voices = top.length;
    for (const voice of this.#left.keys()) {
      // Too deep, or calls that are made by their own sub-agents.
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
    // Where sub-agents speak, what stands below depends on more than this message: look again.
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
