// The files that an agent has created: restoring the files deletes them.
import type { MessageView, View } from "@turnwire/client";
import { textIn } from "../tools/toolValues";

/**
 * Returns the files that tools created after this entry, as far as the agent reports them; includes
 * sub-agents.
 */
export function createdAfter({ messages }: Pick<View, "messages">, sequence: number): string[] {
  const after = messages.filter((message) => (message.sequence ?? 0) > sequence);
  return [...new Set(after.flatMap(createdIn))];
}

function createdIn(message: MessageView): string[] {
  return message.blocks.flatMap((block) => {
    if (block.type !== "tool") return [];
    const { details, is_error } = block.result ?? {};
    const path = textIn(details, "type") === "create" && !is_error ? textIn(details, "filePath") : undefined;
    return [...(path ? [path] : []), ...(block.messages?.flatMap(createdIn) ?? [])];
  });
}
