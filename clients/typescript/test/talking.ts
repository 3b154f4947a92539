// What tests do in a conversation.
import type { Conversation, View } from "../src/node.js";

/** Answers whatever is asked, as soon as it is. */
export function replyToAll(conversation: Conversation): () => void {
  const asked = new Set<string>();
  return conversation.subscribe(() => {
    for (const { request_id, kind } of conversation.view().status?.requests ?? []) {
      if (asked.has(request_id)) continue;
      asked.add(request_id);
      const reply =
        kind === "question"
          ? conversation.answer(request_id, "Blue")
          : conversation.decide(request_id, "allow");
      reply.catch(() => {}); // the recording may have gone on by itself
    }
  });
}

/** Says something, and waits until its turn is over and nothing goes on any more. */
export async function say(conversation: Conversation, words: string): Promise<View> {
  const { client_message_id } = await conversation.send(words);
  return conversation.until(({ messages, turns, status }) => {
    const said = messages.find((message) => message.client_message_id === client_message_id);
    const isOver = turns.some((turn) => turn.turn_id === said?.turn_id);
    return isOver && !status?.running && !status?.background_tasks?.length;
  });
}

/** Resolves when it is so. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((next) => setTimeout(next, 5));
}
