// A message that was sent over RPC, and its turn.
import type { RpcAccepted, RpcMessage, RpcResultMessage } from "../generated/types.js";

/** Iterate over it for the messages of the turn: first the user's, last the result. */
export class RpcTurn implements AsyncIterable<RpcMessage> {
  /** Resolves when the message is stored. Rejects with Refused or Closed. */
  readonly accepted: Promise<RpcAccepted>;
  turnId: number | undefined;

  readonly #messages: RpcMessage[] = [];
  /** The greatest number so far, to skip repeated messages. */
  #cursor = 0;
  #hasResult = false;
  #isOver = false;
  #error: Error | undefined;
  #wake = () => {};
  #accept!: (accepted: RpcAccepted) => void;
  #reject!: (error: Error) => void;

  constructor() {
    this.accepted = new Promise((accept, reject) => {
      this.#accept = accept;
      this.#reject = reject;
    });
    this.accepted.catch(() => {}); // the iterator reports the error, too
  }

  /** Waits for the end of the turn. Returns the result, if there was one. */
  async result(): Promise<RpcResultMessage | undefined> {
    let result: RpcResultMessage | undefined;
    for await (const message of this) if (message.type === "result") result = message;
    return result;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RpcMessage> {
    for (let at = 0; ; at += 1) {
      while (at >= this.#messages.length) {
        if (this.#error) throw this.#error;
        if (this.#isOver) return;
        await new Promise<void>((wake) => {
          const before = this.#wake;
          this.#wake = () => {
            before();
            wake();
          };
        });
      }
      yield this.#messages[at] as RpcMessage;
    }
  }

  // --- called by the session ----------------------------------------------------------------------------

  /** @internal */
  taken(accepted: RpcAccepted): void {
    this.turnId = accepted.turn_id ?? this.turnId;
    this.#accept(accepted);
  }

  /** @internal */
  tell(message: RpcMessage, sequence: number | undefined, turnId: number | undefined): void {
    this.turnId ??= turnId;
    if (this.#hasResult || (sequence !== undefined && sequence <= this.#cursor)) return;
    this.#cursor = sequence ?? this.#cursor;
    this.#hasResult = message.type === "result";
    this.#messages.push(message);
    this.#stir();
  }

  /** @internal */
  end(error?: Error): void {
    this.#isOver = true;
    this.#error = error;
    if (error) this.#reject(error);
    this.#stir();
  }

  #stir(): void {
    const wake = this.#wake;
    this.#wake = () => {};
    wake();
  }
}
