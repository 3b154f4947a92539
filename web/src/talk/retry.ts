// Tries a failed turn again: its message is sent once more, as a new turn. The log keeps both.
import type { MessageView, Snapshot } from "@turnwire/client";
import { createContext } from "react";

/** The last turn, if it failed and can be tried again. */
export interface Retry {
  turn: number;
  run: () => void;
}

export const RetryTurn = createContext<Retry | undefined>(undefined);

/** Returns the last turn, if it failed and nothing was said since, and its message. */
export function failedTurn({ view, unanswered }: Pick<Snapshot, "view" | "unanswered">) {
  const { messages, status, turns } = view;
  const last = turns.at(-1);
  const isIdle = status?.turn_id === undefined && !status?.queue.length && !unanswered.length;
  if (!last?.end.is_error || !isIdle) return undefined;
  const prompt = messages.findLast((message) => message.turn_id === last.turn_id && isPrompt(message));
  return prompt?.blocks.length ? { turn: last.turn_id, prompt } : undefined;
}

function isPrompt({ role, origin, steered, parent_tool_use_id }: MessageView): boolean {
  return role === "user" && !origin && !steered && !parent_tool_use_id;
}
