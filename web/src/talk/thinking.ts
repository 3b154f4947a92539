// Whether the agent works and nothing on the page shows it.
import type { View } from "@turnwire/client";

/** A text that grows, a tool that runs and a request show by themselves that the turn goes on. */
export function isThinking({ status, messages }: Pick<View, "status" | "messages">): boolean {
  if (status?.turn_id === undefined || !status.running || status.requests.length) return false;
  const last = messages.at(-1);
  if (last?.role !== "assistant") return true;
  const block = last.blocks.at(-1);
  if (block?.type === "tool") return block.result !== undefined;
  return block?.status !== "streaming";
}
