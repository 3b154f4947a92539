// Actions of tests in a conversation.
import type { Conversation, OpenRequest, View } from "../src/node.js";

/** Returns an answer to one question, or to each of several. */
export function someAnswer({ questions }: OpenRequest): string | Record<string, string> {
  const names = questions?.map((question) => question.id) ?? [];
  return names.length < 2 ? "Blue" : Object.fromEntries(names.map((name) => [name, "Blue"]));
}

/** Answers every request at once. Returns a function that ends it. */
export function replyToAll(conversation: Conversation): () => void {
  const asked = new Set<string>();
  return conversation.subscribe(() => {
    for (const request of conversation.view().status?.requests ?? []) {
      const { request_id, kind } = request;
      if (asked.has(request_id)) continue;
      asked.add(request_id);
      const reply =
        kind === "question"
          ? conversation.answer(request_id, someAnswer(request))
          : conversation.decide(request_id, "allow");
      reply.catch(() => {}); // the recording may have continued without the answer
    }
  });
}

/** Sends a message, and waits until its turn and all background tasks have ended. */
export async function say(conversation: Conversation, words: string): Promise<View> {
  const { client_message_id } = await conversation.send(words);
  return conversation.until(({ messages, turns, status }) => {
    const said = messages.find((message) => message.client_message_id === client_message_id);
    const isOver = turns.some((turn) => turn.turn_id === said?.turn_id);
    return isOver && !status?.running && !status?.background_tasks?.length;
  });
}

/** Polls until the condition holds. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((next) => setTimeout(next, 5));
}
