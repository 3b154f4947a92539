// What can go wrong. Each error has a code; the codes are those of docs/protocol/v2.md, section 12.
import type { ErrorPayload } from "./generated/types.js";

/** All errors of this package. */
export class TurnwireError extends Error {
  constructor(
    readonly code: ErrorPayload["code"],
    message: string,
  ) {
    super(message);
    this.name = new.target.name;
  }
}

/** The server has not done what it was asked for. */
export class Refused extends TurnwireError {
  /** The same, asked for again later under the same id, may succeed. */
  readonly retryable: boolean;
  readonly whatToDo: string;
  /** Particulars, by code. */
  readonly data: Record<string, unknown>;

  constructor(told: Partial<ErrorPayload>) {
    super(told.code ?? "INTERNAL_ERROR", told.message ?? "The server refused.");
    this.retryable = told.retryable ?? false;
    this.whatToDo = told.what_to_do ?? "";
    this.data = told.data ?? {};
  }
}

/** The connection has ended for good: connecting again cannot help. */
export class Closed extends TurnwireError {
  constructor(
    code: string,
    message: string,
    /** What the WebSocket was closed with. */
    readonly closeCode: number,
  ) {
    super(code, message);
  }
}
