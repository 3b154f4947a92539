// Messages that were sent and are not confirmed yet, for example while the browser is offline.
import type { ClientFrame, MessageView, SentContent } from "@turnwire/client";

export interface UnconfirmedMessage {
  readonly id: string;
  readonly content: SentContent;
}

/** Returns the messages among the unanswered commands, without those that the log already has. */
export function unconfirmedIn(
  unanswered: readonly ClientFrame[],
  messages: readonly MessageView[],
): UnconfirmedMessage[] {
  const sent = unanswered.flatMap((frame) =>
    frame.type === "user.message"
      ? [{ id: frame.client_message_id ?? "", content: frame.payload.content as SentContent }]
      : [],
  );
  if (!sent.length) return sent;
  const here = new Set(messages.slice(-20).map((message) => message.client_message_id));
  return sent.filter((each) => !here.has(each.id));
}
