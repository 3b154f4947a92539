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
import { defined } from "./defined.js";
import { BlockBuilder, Card, draw, MessageBuilder, type Speech, type Voice } from "./drawing.js";
import { sameOr, share } from "./sharing.js";

/** What is known while older entries are told. */
interface Past {
  count: number;
  /** Cards whose request is from these entries. */
  asked: Set<Card>;
  turns: TurnView[];
  /** In the order they were first heard. */
  voices: Set<Voice>;
  /** A later entry has told the plan. */
  knowsPlan: boolean;
}

export class ViewBuilder {
  epoch: string | undefined;
  first = 1;
  cursor = 0;
  behind = false;

  plan: unknown[] = [];
  /** Some entry has told the plan, perhaps that there is none any more. */
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
  /** Those that show what they print, or for how long. */
  #running = new Map<string, Card>();
  #count = 0;
  /** While older entries are put before the others. */
  #past: Past | undefined;
  #lowest = 0;
  /** How requests ended that began before what is here. */
  #endings = new Map<string, Partial<RequestView>>();
  #last: View = { messages: [], turns: [] };

  /** What `tell` tells is older than all that is here: `entries` of the log, from `first` on. */
  before(first: number, entries: number, tell: () => void): void {
    // At most one message comes with an entry, and a message gets its place once.
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

  /** The next place, among those that are told now. */
  #next(): number {
    if (this.#past) {
      this.#past.count += 1;
      return this.#past.count;
    }
    this.#count += 1;
    return this.#count;
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
    this.#toPlace(this.#speech(message.parent_tool_use_id), message, this.#next());
  }

  /** The assistant message with this id, if there is one. */
  find(voice: Voice, messageId: string): MessageBuilder | undefined {
    return this.#speeches.get(voice)?.messages.get(messageId);
  }

  /** The assistant message with this id; if there is none, a placeholder for it. */
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

  /** From now on the message is found under this id too. */
  call(message: MessageBuilder, messageId: string): void {
    this.#speechOf(message).messages.set(messageId, message);
  }

  /** The message gets its place, after all that have theirs, unless it has one. */
  place(message: MessageBuilder): void {
    if (message.hasPlace) return;
    const speech = this.#speechOf(message);
    speech.unplaced.delete(message.order);
    message.order = this.#next();
    message.hasPlace = true;
    this.#toPlace(speech, message, message.order);
  }

  /** A message that began before what was here stands where it began. */
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
      // From now on the call that it speaks under holds messages.
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

  /** A block begins to grow. It takes the place of what has grown there, or under its id. */
  start(message: MessageBuilder, index: number, block: BlockView): BlockBuilder {
    this.#move(message, block.id);
    const begun = this.#put(message, index, block, false);
    this.#speechOf(message).growing.set(block.id, begun);
    return begun;
  }

  /** A block is finished. What the message is follows from finished blocks alone. */
  finish(message: MessageBuilder, index: number, block: BlockView, about: MessageView): void {
    if (this.#past) return this.#finishOlder(message, index, block, about);
    this.#move(message, block.id);
    this.#put(message, index, block, true);
    this.place(message);
    message.about = message.isTold ? withMore(message.about, about) : about;
    message.isTold = true;
  }

  /** The same, where what came later is here already: it still holds. */
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

  /** A growing block will never be finished; nor is its message shown without any block. */
  discard(voice: Voice, blockId: string): void {
    const message = this.#release(voice, blockId);
    if (!message) return;
    this.dropIfEmpty(message);
    const card = this.#running.get(blockId);
    if (card) {
      this.#running.delete(blockId); // it was a tool call
      silence(card);
    }
  }

  /** A message without blocks goes, unless it has its place; there it is only not shown. */
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

  /** A block id is one block: what has grown under it elsewhere was this one. */
  #move(message: MessageBuilder, blockId: string): void {
    const left = this.#release(message.about.parent_tool_use_id, blockId);
    if (left && left !== message) this.dropIfEmpty(left);
  }

  /** Take away what has grown under this id; the message it was in, if it was. */
  #release(voice: Voice, blockId: string): MessageBuilder | undefined {
    const growing = this.#speeches.get(voice)?.growing;
    const block = growing?.get(blockId);
    if (!block) return;
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
    if (card.result) return;
    this.#running.set(toolUseId, card);
    if (elapsed !== undefined) card.elapsed = elapsed;
    if (output) card.output = (card.output ?? "") + output;
    card.changed();
  }

  /** What a tool gave back, the first time. Whether it was. */
  result(toolUseId: string, result: ResultView): boolean {
    const card = this.#card(toolUseId);
    if (card.result) return false;
    card.result = result;
    silence(card);
    this.#running.delete(toolUseId);
    return true;
  }

  /** A tool call waits for a person. */
  ask(request: OpenRequest): void {
    if (this.#past) return this.#askOlder(request, this.#past);
    this.#requests.set(request.request_id, request);
    this.#tellRequests();
    this.#toolOfRequest.set(request.request_id, request.tool_use_id);
    const card = this.#card(request.tool_use_id);
    card.request = { request_id: request.request_id, kind: request.kind };
    card.changed();
  }

  /** Whether it is still open is known: the state has told it. */
  #askOlder(request: OpenRequest, past: Past): void {
    const { request_id, kind, tool_use_id } = request;
    const ending = this.#endings.get(request_id);
    if (!this.#endings.delete(request_id)) this.#toolOfRequest.set(request_id, tool_use_id);
    const card = this.#card(tool_use_id);
    if (card.request && !past.asked.has(card)) return; // a later one
    past.asked.add(card);
    card.request = { request_id, kind, ...ending };
    card.changed();
  }

  /** A request has ended. Its card shows how, unless it shows a later request by now. */
  resolve(requestId: string, ended: Partial<RequestView>): void {
    if (this.#requests.delete(requestId)) this.#tellRequests();
    const tool = this.#toolOfRequest.get(requestId);
    if (tool === undefined) {
      if (this.first > 1) this.#endings.set(requestId, ended); // it began before what is here
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

  /** A turn is over, which counts once. */
  endTurn(turnId: number, end: TurnEnd): void {
    if (this.#turns.has(turnId)) return;
    if (this.#past) this.#past.turns.push({ turn_id: turnId, end });
    else this.#turns.set(turnId, { turn_id: turnId, end });
    this.#sums = withTurn(this.#sums ?? {}, end);
  }

  /** The agent's to-do list, whole. */
  setPlan(items: unknown[]): void {
    if (this.#past?.knowsPlan) return;
    this.plan = items;
    this.#isPlanTold = true;
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
    if (totals) this.#toldTotals = share(this.#toldTotals, totals);
  }

  // --- the view -------------------------------------------------------------------------------------

  /** Everything on the screen. What has not changed since the last time is the same object. */
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

/** What is known of a message, with what another entry tells of it. */
function withMore(about: MessageView, more: MessageView | undefined): MessageView {
  const told = { ...about };
  for (const name of ["model", "error", "agent_id"] as const) {
    const known = more?.[name];
    if (known) told[name] = known;
  }
  return told;
}

/** What the tool has printed, and for how long it has run, goes. */
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
