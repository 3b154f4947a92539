/** Stores a reply that was started and not sent, for example in the browser, so that it survives a reload. */
export interface StartedReply {
  /** Returns what was written last; anything else if another program has changed it. */
  readonly read: () => unknown;
  /** Stores a JSON value; undefined deletes it. */
  readonly write: (reply: unknown) => void;
}
