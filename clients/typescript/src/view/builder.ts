// Builds the view: what a person sees, out of the few things that any dialect can tell of it.
//
// No operation costs more in a long conversation than in a short one. Only `view` looks at all
// messages, and draws those that have changed.
import type {
  BlockView,
  MessageView,
  OpenRequest,
  RequestView,
  ResultView,
  Status,
  Totals,
  TurnEnd,
  TurnView,
  View,
} from "../generated/types.js";
import { BlockBuilder, Card, draw, isSame, MessageBuilder, type Speech, type Voice } from "./drawing.js";
import { share } from "./sharing.js";

export class ViewBuilder {
  epoch: string | undefined;
  first = 1;
  cursor = 0;
  behind = false;

  plan: unknown[] = [];
  #title: string | undefined;
  #toldTotals: Totals | undefined;
  #sums: Totals | undefined;
  #status: Status | undefined;
  #turns = new Map<number, TurnView>();
  #requests = new Map<string, OpenRequest>();
  #toolOfRequest = new Map<string, string>();
  #speeches = new Map<Voice, Speech>();
  #cards = new Map<string, Card>();
  /** Those that show what they print, or for how long. */
  #running = new Map<string, Card>();
  #count = 0;
  #last: View = { messages: [], turns: [] };

  constructor() {
    this.clear();
  }

  /** Forget everything but the place in the log. */
  clear(): void {
    this.plan = [];
    this.#title = this.#toldTotals = this.#sums = this.#status = undefined;
    this.#turns.clear();
    this.#requests.clear();
    this.#toolOfRequest.clear();
    this.#speeches = new Map([[undefined, newSpeech()]]);
    this.#cards.clear();
    this.#running.clear();
    this.#count = 0;
  }

  /** Forget all that is not finished, and what running tools have printed. */
  forgetGrowing(): void {
    for (const [voice, speech] of this.#speeches) {
      for (const blockId of [...speech.growing.keys()]) this.discard(voice, blockId);
    }
    for (const card of this.#running.values()) silence(card);
    this.#running.clear();
  }

  // --- messages -----------------------------------------------------------------------------------

  /** A message that is whole: a person's, or something that happened. */
  add(message: MessageView): void {
    this.#count += 1;
    this.#speech(message.parent_tool_use_id).placed.push({ order: this.#count, message });
  }

  /** The assistant message with this id, if there is one. */
  find(voice: Voice, messageId: string): MessageBuilder | undefined {
    return this.#speeches.get(voice)?.messages.get(messageId);
  }

  /** The assistant message with this id; if there is none, a placeholder for it. */
  message(about: MessageView): MessageBuilder {
    const speech = this.#speech(about.parent_tool_use_id);
    let found = speech.messages.get(about.id);
    if (found === undefined) {
      this.#count += 1;
      found = new MessageBuilder(about, this.#count);
      speech.messages.set(about.id, found);
      speech.unplaced.set(this.#count, found);
    }
    return found;
  }

  /** From now on the message is found under this id too. */
  call(message: MessageBuilder, messageId: string): void {
    this.#speech(message.about.parent_tool_use_id).messages.set(messageId, message);
  }

  /** The message gets its place, after all that have theirs, unless it has one. */
  place(message: MessageBuilder): void {
    if (message.hasPlace) return;
    const speech = this.#speech(message.about.parent_tool_use_id);
    speech.unplaced.delete(message.order);
    this.#count += 1;
    message.order = this.#count;
    message.hasPlace = true;
    speech.placed.push({ order: this.#count, message });
  }

  #speech(voice: Voice): Speech {
    let speech = this.#speeches.get(voice);
    if (speech === undefined) {
      speech = newSpeech();
      this.#speeches.set(voice, speech);
      // From now on the call that it speaks under holds messages.
      for (const block of this.#card(voice as string).homes) this.#shelter(block);
    }
    return speech;
  }

  #shelter(block: BlockBuilder): void {
    block.message.nests = true;
    block.changed();
  }

  // --- blocks -------------------------------------------------------------------------------------

  /** A block begins to grow. It takes the place of what has grown there, or under its id. */
  start(message: MessageBuilder, index: number, block: BlockView): BlockBuilder {
    this.#move(message, block.id);
    const begun = this.#put(message, index, block, false);
    this.#speech(message.about.parent_tool_use_id).growing.set(block.id, begun);
    return begun;
  }

  /** A block is finished. What the message is follows from finished blocks alone. */
  finish(message: MessageBuilder, index: number, block: BlockView, about: MessageView): void {
    this.#move(message, block.id);
    this.#put(message, index, block, true);
    this.place(message);
    if (!message.isTold) {
      message.isTold = true;
      message.about = about;
    } else {
      const told = { ...message.about };
      if (about.model) told.model = about.model;
      if (about.error) told.error = about.error;
      if (about.agent_id) told.agent_id = about.agent_id;
      message.about = told;
    }
  }

  /** A growing block will never be finished; nor is its message shown without any block. */
  discard(voice: Voice, blockId: string): void {
    const message = this.#release(voice, blockId);
    if (message === undefined) return;
    this.dropIfEmpty(message);
    const card = this.#running.get(blockId);
    if (card !== undefined) {
      this.#running.delete(blockId); // it was a tool call
      silence(card);
    }
  }

  /** A message without blocks goes, unless it has its place; there it is only not shown. */
  dropIfEmpty(message: MessageBuilder): void {
    if (message.blocks.size || message.isOpen || message.hasPlace) return;
    const speech = this.#speech(message.about.parent_tool_use_id);
    speech.unplaced.delete(message.order);
    speech.messages.delete(message.about.id);
  }

  #put(message: MessageBuilder, index: number, whole: BlockView, final: boolean): BlockBuilder {
    const there = message.blocks.get(index);
    if (there !== undefined) {
      this.#speech(message.about.parent_tool_use_id).growing.delete(there.whole.id);
      this.#leave(there);
    }
    const block = new BlockBuilder(message, index, whole, final);
    message.blocks.set(index, block);
    block.changed();
    if (whole.type === "tool") {
      this.#card(whole.id).homes.add(block);
      if (this.#speeches.has(whole.id)) this.#shelter(block);
    }
    return block;
  }

  /** A block id is one block: what has grown under it elsewhere was this one. */
  #move(message: MessageBuilder, blockId: string): void {
    const left = this.#release(message.about.parent_tool_use_id, blockId);
    if (left !== undefined && left !== message) this.dropIfEmpty(left);
  }

  /** Take away what has grown under this id; the message it was in, if it was. */
  #release(voice: Voice, blockId: string): MessageBuilder | undefined {
    const growing = this.#speeches.get(voice)?.growing;
    const block = growing?.get(blockId);
    if (block === undefined) return undefined;
    growing?.delete(blockId);
    block.message.blocks.delete(block.index);
    this.#leave(block);
    return block.message;
  }

  /** The block is no longer shown. */
  #leave(block: BlockBuilder): void {
    block.changed();
    if (block.whole.type === "tool") this.#cards.get(block.whole.id)?.homes.delete(block);
  }

  // --- tools --------------------------------------------------------------------------------------

  /** A tool runs, and may have printed something. When its result is there, that is over. */
  progress(toolUseId: string, output: string | undefined, elapsed?: number): void {
    const card = this.#card(toolUseId);
    if (card.result !== undefined) return;
    this.#running.set(toolUseId, card);
    if (elapsed !== undefined) card.elapsed = elapsed;
    if (output) card.output = (card.output ?? "") + output;
    card.changed();
  }

  /** What a tool gave back, the first time. Whether it was. */
  result(toolUseId: string, result: ResultView): boolean {
    const card = this.#card(toolUseId);
    if (card.result !== undefined) return false;
    card.result = result;
    silence(card);
    this.#running.delete(toolUseId);
    return true;
  }

  /** A tool call waits for a person. */
  ask(request: OpenRequest): void {
    this.#requests.set(request.request_id, request);
    this.#tellRequests();
    this.#toolOfRequest.set(request.request_id, request.tool_use_id);
    const card = this.#card(request.tool_use_id);
    card.request = { request_id: request.request_id, kind: request.kind };
    card.changed();
  }

  /** A request has ended. Its card shows how, unless it shows a later request by now. */
  resolve(requestId: string, ended: Partial<RequestView>): void {
    if (this.#requests.delete(requestId)) this.#tellRequests();
    const card = this.#cards.get(this.#toolOfRequest.get(requestId) ?? "");
    this.#toolOfRequest.delete(requestId);
    if (card?.request?.request_id === requestId) {
      card.request = { ...card.request, ...ended };
      card.changed();
    }
  }

  #tellRequests(): void {
    if (this.#status) this.#status = { ...this.#status, requests: [...this.#requests.values()] };
  }

  #card(toolUseId: string): Card {
    let card = this.#cards.get(toolUseId);
    if (card === undefined) {
      card = new Card();
      this.#cards.set(toolUseId, card);
    }
    return card;
  }

  // --- turns and state ------------------------------------------------------------------------------

  /** A turn is over, which counts once. */
  endTurn(turnId: number, end: TurnEnd): void {
    if (this.#turns.has(turnId)) return;
    this.#turns.set(turnId, { turn_id: turnId, end });
    this.#sums = withTurn(this.#sums ?? {}, end);
  }

  /** How many turns are over. */
  get turnCount(): number {
    return this.#turns.size;
  }

  /** The state, whole. A title or a total that it does not tell is still as it was told. */
  setStatus(status: Status): void {
    this.#requests = new Map(status.requests.map((request) => [request.request_id, request]));
    this.#status = share(this.#status, { ...status, requests: [...this.#requests.values()] });
    this.tell(status.title, status.totals);
  }

  /** The title and the totals, where they are told. An empty title is none any more. */
  tell(title: string | undefined, totals: Totals | undefined): void {
    if (title !== undefined) this.#title = title || undefined;
    if (totals !== undefined) this.#toldTotals = share(this.#toldTotals, totals);
  }

  // --- the view -------------------------------------------------------------------------------------

  /** Everything on the screen. What has not changed since the last time is the same object. */
  view(): View {
    const messages = draw(this.#speeches, this.#cards);
    const turns = [...this.#turns.values()];
    const view: View = {
      messages: isSame(messages, this.#last.messages) ? this.#last.messages : messages,
      turns: isSame(turns, this.#last.turns) ? this.#last.turns : turns,
    };
    const totals = this.#toldTotals ?? this.#sums;
    if (this.#status) view.status = this.#status;
    if (this.plan.length) view.plan = this.plan;
    if (totals) view.totals = totals;
    if (this.#title) view.title = this.#title;
    if (this.epoch !== undefined) view.epoch = this.epoch;
    if (this.first !== 1) view.first = this.first;
    if (this.cursor) view.cursor = this.cursor;
    if (this.behind) view.behind = true;
    if (!isSameView(view, this.#last)) this.#last = view;
    return this.#last;
  }
}

function newSpeech(): Speech {
  return { placed: [], unplaced: new Map(), messages: new Map(), growing: new Map() };
}

/** What the tool has printed, and for how long it has run, goes. */
function silence(card: Card): void {
  card.output = card.elapsed = undefined;
  card.changed();
}

function isSameView(one: View, other: View): boolean {
  const names = Object.keys(one) as (keyof View)[];
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

const TOKENS = [
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
] as const;

/** The totals, with one more turn. */
function withTurn(totals: Totals, end: TurnEnd): Totals {
  const sums: Totals = {};
  for (const name of TOKENS) {
    const sum = (totals[name] ?? 0) + (end.usage?.[name] ?? 0);
    if (sum) sums[name] = sum;
  }
  const cost = (totals.cost_usd ?? 0) + (end.cost_usd ?? 0);
  if (cost) sums.cost_usd = cost;
  return sums;
}
