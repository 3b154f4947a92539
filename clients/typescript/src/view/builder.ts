// Builds the view of a conversation from a few operations that every protocol can call.
//
// No operation costs more in a long conversation than in a short one. Only `view` visits all
// messages, and rebuilds those that have changed.
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
import { defined } from "./defined.js";
import { sameOr, share } from "./sharing.js";
import { BlockBuilder, Card, draw, MessageBuilder, type Speech, type Voice } from "./view_parts.js";

/** The state while older entries are added. */
interface Past {
  count: number;
  /** Cards whose request is from the older entries. */
  asked: Set<Card>;
  turns: TurnView[];
  /** In the order of their first message. */
  voices: Set<Voice>;
  /** Whether a later entry has set the plan. */
  knowsPlan: boolean;
}

export class ViewBuilder {
  epoch: string | undefined;
  first = 1;
  cursor = 0;
  behind = false;

  plan: unknown[] = [];
  /** Whether an entry has set the plan, perhaps to empty. */
  #isPlanTold = false;
  #title: string | undefined;
  #toldTotals: Totals | undefined;
  #sums: Totals | undefined;
  #status: Status | undefined;
  #turns = new Map<number, TurnView>();
  #requests = new Map<string, OpenRequest>();
  #toolOfRequest = new Map<string, string>();
  #speeches = new Map<Voice, Speech>([[undefined, newSpeech()]]);
  #cards = new Map<string, Card>();
  /** Cards that show the output or the duration of a running tool. */
  #running = new Map<string, Card>();
  #count = 0;
  /** Set while older entries are added. */
  #past: Past | undefined;
  #lowest = 0;
  /** The ends of requests that opened before the first entry of the view. */
  #endings = new Map<string, Partial<RequestView>>();
  #last: View = { messages: [], turns: [] };

  /** Adds older entries: `tell` applies `entries` of the log, from `first` on. */
  before(first: number, entries: number, tell: () => void): void {
    // An entry adds at most one message, and a message is placed once.
    const began = this.#lowest - 2 * entries;
    const past: Past = {
      count: began,
      asked: new Set(),
      turns: [],
      voices: new Set([undefined]),
      knowsPlan: this.#isPlanTold,
    };
    this.#past = past;
    try {
      tell();
    } finally {
      this.#past = undefined;
      this.#lowest = began;
    }
    if (past.turns.length) {
      this.#turns = new Map([...past.turns, ...this.#turns.values()].map((turn) => [turn.turn_id, turn]));
    }
    const voices = new Set([...past.voices, ...this.#speeches.keys()]);
    this.#speeches = new Map([...voices].map((voice) => [voice, this.#speech(voice)]));
    for (const speech of this.#speeches.values()) {
      speech.placed = [...speech.older, ...speech.placed];
      speech.older = [];
    }
    this.first = first;
  }

  /** Returns the next position, among older entries while these are added. */
  #next(): number {
    if (this.#past) {
      this.#past.count += 1;
      return this.#past.count;
    }
    this.#count += 1;
    return this.#count;
  }

  /** Discards all unfinished blocks, and the output of running tools. */
  forgetGrowing(): void {
    for (const [voice, speech] of this.#speeches) {
      for (const blockId of [...speech.growing.keys()]) this.discard(voice, blockId);
    }
    for (const card of this.#running.values()) silence(card);
    this.#running.clear();
  }

  // --- messages -----------------------------------------------------------------------------------

  /** Adds a complete message: of a person, or an event. */
  add(message: MessageView): void {
    this.#toPlace(this.#speech(message.parent_tool_use_id), message, this.#next());
  }

  /** Returns the assistant message with this id, if there is one. */
  find(voice: Voice, messageId: string): MessageBuilder | undefined {
    return this.#speeches.get(voice)?.messages.get(messageId);
  }

  /** Returns the assistant message with this id; creates a placeholder if there is none. */
  message(about: MessageView): MessageBuilder {
    const speech = this.#speech(about.parent_tool_use_id);
    let found = speech.messages.get(about.id);
    if (!found) {
      found = new MessageBuilder(about, this.#next());
      speech.messages.set(about.id, found);
      speech.unplaced.set(found.order, found);
    }
    return found;
  }

  /** Adds another id for the message. */
  call(message: MessageBuilder, messageId: string): void {
    this.#speechOf(message).messages.set(messageId, message);
  }

  /** Gives the message its position after all placed messages, unless it has one. */
  place(message: MessageBuilder): void {
    if (message.hasPlace) return;
    const speech = this.#speechOf(message);
    speech.unplaced.delete(message.order);
    message.order = this.#next();
    message.hasPlace = true;
    this.#toPlace(speech, message, message.order);
  }

  /** Takes the position of a message that started in older entries, to place it again. */
  #moveBack(message: MessageBuilder): void {
    const speech = this.#speechOf(message);
    const at = speech.placed.findIndex((each) => each.message === message);
    if (at < 0) return;
    speech.placed.splice(at, 1);
    message.hasPlace = false;
    message.later = message.about;
  }

  #toPlace(speech: Speech, message: MessageView | MessageBuilder, order: number): void {
    (this.#past ? speech.older : speech.placed).push({ order, message });
  }

  #speech(voice: Voice): Speech {
    this.#past?.voices.add(voice);
    let speech = this.#speeches.get(voice);
    if (!speech) {
      speech = newSpeech();
      this.#speeches.set(voice, speech);
      // The tool call of this sub-agent now contains messages.
      for (const block of this.#card(voice as string).homes) this.#shelter(block);
    }
    return speech;
  }

  #speechOf(message: MessageBuilder): Speech {
    return this.#speech(message.about.parent_tool_use_id);
  }

  #shelter(block: BlockBuilder): void {
    block.message.nests = true;
    block.changed();
  }

  // --- blocks -------------------------------------------------------------------------------------

  /** Starts a growing block. Replaces an unfinished block at the same index or with the same id. */
  start(message: MessageBuilder, index: number, block: BlockView): BlockBuilder {
    this.#move(message, block.id);
    const begun = this.#put(message, index, block, false);
    this.#speechOf(message).growing.set(block.id, begun);
    return begun;
  }

  /** Finishes a block. Only finished blocks set the attributes of the message. */
  finish(message: MessageBuilder, index: number, block: BlockView, about: MessageView): void {
    if (this.#past) return this.#finishOlder(message, index, block, about);
    this.#move(message, block.id);
    this.#put(message, index, block, true);
    this.place(message);
    message.about = message.isTold ? withMore(message.about, about) : about;
    message.isTold = true;
  }

  /** Finishes a block of older entries. Values of later entries take precedence. */
  #finishOlder(message: MessageBuilder, index: number, block: BlockView, about: MessageView): void {
    this.#move(message, block.id);
    if (!message.blocks.get(index)?.final) this.#put(message, index, block, true);
    if (message.hasPlace && message.order > this.#lowest) this.#moveBack(message);
    const told = message.hasPlace ? withMore(message.about, about) : about;
    this.place(message);
    message.about = withMore(told, message.later);
    message.isTold = true;
    message.drawn = undefined;
  }

  /** Discards a growing block, and its message if that is now empty. */
  discard(voice: Voice, blockId: string): void {
    const message = this.#release(voice, blockId);
    if (!message) return;
    this.dropIfEmpty(message);
    const card = this.#running.get(blockId);
    if (card) {
      this.#running.delete(blockId); // the block was a tool call
      silence(card);
    }
  }

  /** Drops a message without blocks. A placed message stays, but is not shown. */
  dropIfEmpty(message: MessageBuilder): void {
    if (message.blocks.size || message.isOpen || message.hasPlace) return;
    const speech = this.#speechOf(message);
    speech.unplaced.delete(message.order);
    speech.messages.delete(message.about.id);
  }

  #put(message: MessageBuilder, index: number, whole: BlockView, final: boolean): BlockBuilder {
    const there = message.blocks.get(index);
    if (there) {
      this.#speechOf(message).growing.delete(there.whole.id);
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

  /** Removes a growing block with the same id from any other position: an id is one block. */
  #move(message: MessageBuilder, blockId: string): void {
    const left = this.#release(message.about.parent_tool_use_id, blockId);
    if (left && left !== message) this.dropIfEmpty(left);
  }

  /** Removes the growing block with this id. Returns the message that had it. */
  #release(voice: Voice, blockId: string): MessageBuilder | undefined {
    const growing = this.#speeches.get(voice)?.growing;
    const block = growing?.get(blockId);
    if (!block) return;
    growing?.delete(blockId);
    block.message.blocks.delete(block.index);
    this.#leave(block);
    return block.message;
  }

  /** Marks a block as not shown any more. */
  #leave(block: BlockBuilder): void {
    block.changed();
    if (block.whole.type === "tool") this.#cards.get(block.whole.id)?.homes.delete(block);
  }

  // --- tools --------------------------------------------------------------------------------------

  /** Adds the progress of a running tool. Ignored after the result. */
  progress(toolUseId: string, output: string | undefined, elapsed?: number): void {
    const card = this.#card(toolUseId);
    if (card.result) return;
    this.#running.set(toolUseId, card);
    if (elapsed !== undefined) card.elapsed = elapsed;
    if (output) card.output = (card.output ?? "") + output;
    card.changed();
  }

  /** Sets the result of a tool call. Returns whether it was the first. */
  result(toolUseId: string, result: ResultView): boolean {
    const card = this.#card(toolUseId);
    if (card.result) return false;
    card.result = result;
    silence(card);
    this.#running.delete(toolUseId);
    return true;
  }

  /** Opens a request of a tool call. */
  ask(request: OpenRequest): void {
    if (this.#past) return this.#askOlder(request, this.#past);
    this.#requests.set(request.request_id, request);
    this.#tellRequests();
    this.#toolOfRequest.set(request.request_id, request.tool_use_id);
    const card = this.#card(request.tool_use_id);
    card.request = { request_id: request.request_id, kind: request.kind };
    card.changed();
  }

  /** Opens a request of older entries; the state tells whether it is still open. */
  #askOlder(request: OpenRequest, past: Past): void {
    const { request_id, kind, tool_use_id } = request;
    const ending = this.#endings.get(request_id);
    if (!this.#endings.delete(request_id)) this.#toolOfRequest.set(request_id, tool_use_id);
    const card = this.#card(tool_use_id);
    if (card.request && !past.asked.has(card)) return; // a later request
    past.asked.add(card);
    card.request = { request_id, kind, ...ending };
    card.changed();
  }

  /** Ends a request. Its card shows the outcome, unless it already shows a later request. */
  resolve(requestId: string, ended: Partial<RequestView>): void {
    if (this.#requests.delete(requestId)) this.#tellRequests();
    const tool = this.#toolOfRequest.get(requestId);
    if (tool === undefined) {
      if (this.first > 1) this.#endings.set(requestId, ended); // opened before the first entry of the view
      return;
    }
    const card = this.#cards.get(tool);
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
    if (!card) {
      card = new Card();
      this.#cards.set(toolUseId, card);
    }
    return card;
  }

  // --- turns and state ------------------------------------------------------------------------------

  /** Ends a turn, only once. */
  endTurn(turnId: number, end: TurnEnd): void {
    if (this.#turns.has(turnId)) return;
    if (this.#past) this.#past.turns.push({ turn_id: turnId, end });
    else this.#turns.set(turnId, { turn_id: turnId, end });
    this.#sums = withTurn(this.#sums ?? {}, end);
  }

  /** Sets the agent's to-do list. */
  setPlan(items: unknown[]): void {
    if (this.#past?.knowsPlan) return;
    this.plan = items;
    this.#isPlanTold = true;
  }

  /** The number of ended turns. */
  get turnCount(): number {
    return this.#turns.size;
  }

  /** Sets the state. An absent title or total keeps its last value. */
  setStatus(status: Status): void {
    this.#requests = new Map(status.requests.map((request) => [request.request_id, request]));
    this.#status = share(this.#status, { ...status, requests: [...this.#requests.values()] });
    this.tell(status.title, status.totals);
  }

  /** Sets the title and the totals, if present. An empty title removes it. */
  tell(title: string | undefined, totals: Totals | undefined): void {
    if (title !== undefined) this.#title = title || undefined;
    if (totals) this.#toldTotals = share(this.#toldTotals, totals);
  }

  // --- the view -------------------------------------------------------------------------------------

  /** Returns the whole view. Unchanged parts are the same objects as before. */
  view(): View {
    const last = this.#last;
    const view = defined<View>({
      messages: sameOr(last.messages, draw(this.#speeches, this.#cards)),
      turns: sameOr(last.turns, [...this.#turns.values()]),
      status: this.#status,
      plan: this.plan.length ? this.plan : undefined,
      totals: this.#toldTotals ?? this.#sums,
      title: this.#title,
      epoch: this.epoch,
      first: this.first === 1 ? undefined : this.first,
      cursor: this.cursor || undefined,
      behind: this.behind || undefined,
    });
    const isOther = (name: string) => view[name as keyof View] !== last[name as keyof View];
    if (Object.keys({ ...last, ...view }).some(isOther)) this.#last = view;
    return this.#last;
  }
}

function newSpeech(): Speech {
  return { placed: [], older: [], unplaced: new Map(), messages: new Map(), growing: new Map() };
}

/** Merges the attributes of a message with those of another entry. */
function withMore(about: MessageView, more: MessageView | undefined): MessageView {
  const told = { ...about };
  for (const name of ["model", "error", "agent_id"] as const) {
    const known = more?.[name];
    if (known) told[name] = known;
  }
  return told;
}

/** Removes the output and the duration of a running tool. */
function silence(card: Card): void {
  card.output = card.elapsed = undefined;
  card.changed();
}

const TOKENS = [
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
] as const;

/** Adds a turn to the totals. */
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
