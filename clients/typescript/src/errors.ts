// The errors of this package. Their codes are listed in docs/reference/protocol/v2.md, section 12.
import type { ErrorPayload } from "./generated/types.js";

/** The base class of all errors of this package. */
export class TurnwireError extends Error {
  constructor(
    readonly code: ErrorPayload["code"],
    message: string,
  ) {
    super(message);
    this.name = new.target.name;
  }
}

/** The server refused a command or a request. */
export class Refused extends TurnwireError {
  /** Whether a retry under the same id may succeed later. */
  readonly retryable: boolean;
  readonly whatToDo: string;
  /** Details, by code. */
  readonly data: Record<string, unknown>;

  constructor(told: Partial<ErrorPayload>) {
    super(told.code ?? "INTERNAL_ERROR", told.message ?? "The server refused.");
    this.retryable = told.retryable ?? false;
    this.whatToDo = told.what_to_do ?? "";
    this.data = told.data ?? {};
  }
}

/** The connection has ended permanently: reconnecting cannot help. */
export class Closed extends TurnwireError {
  constructor(
    code: string,
    message: string,
    /** The close code of the WebSocket. */
    readonly closeCode: number,
  ) {
    super(code, message);
  }
}
