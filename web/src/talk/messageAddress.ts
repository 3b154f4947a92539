// The address of a message: the number of its entry in the log.
import type { MessageView } from "@turnwire/client";
import type { useTurnwire } from "@turnwire/react";
import { addressOf } from "../app/navigation";

/** A message of more entries than this is linked at its first one. */
const MOST_ENTRIES = 30;

interface Told {
  frame: { payload: { block_id?: string; message_id?: string; tool_use_id?: string; question_id?: string } };
}

/** Returns the address of a message, or of one block of it: each block is an entry of the log. */
export async function messageAddress(
  client: ReturnType<typeof useTurnwire>,
  id: string,
  message: MessageView,
  blockId?: string,
): Promise<string | undefined> {
  const first = message.sequence;
  if (first === undefined) return undefined; // it is still growing
  const link = (at: number) => new URL(addressOf({ name: "talk", id, at }), location.href).href;
  if (blockId === undefined || message.blocks[0]?.id === blockId) return link(first);
  for (let at = first; at < first + MOST_ENTRIES; at += 1) {
    const path = `/api/conversations/${encodeURIComponent(id)}/messages/${at}`;
    const told = await client.request<Told>("GET", path).catch(() => undefined);
    if (told === undefined) break;
    const { block_id, tool_use_id, question_id } = told.frame.payload;
    if ([block_id, tool_use_id, question_id].includes(blockId)) return link(at);
  }
  return link(first);
}
