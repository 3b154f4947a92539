// Answers a message again: the message is sent once more, in a fork or as a new turn. The log keeps
// the first answer.
import type { MessageView, SentContent } from "@turnwire/client";
import { upload, type useTurnwire } from "@turnwire/client/react";
import { loadBlob } from "../app/files";
import { picturesIn, textIn } from "../tools/toolValues";

/** Returns the content of a message, for another conversation: its pictures and files are uploaded again. */
export async function contentFor(
  client: ReturnType<typeof useTurnwire>,
  conversation: string,
  message: MessageView,
): Promise<SentContent> {
  const parts: Exclude<SentContent, string> = [];
  for (const block of message.blocks) {
    if (block.type === "text") parts.push({ type: "text", text: block.text });
    if (block.type !== "block") continue;
    const data = block.block as { blob?: unknown };
    const again = async (blobId: string) => ({
      blob_id: await upload(client, conversation, await loadBlob(blobId), textIn(data, "mime_type")),
    });
    const stored = block.blob ?? data.blob;
    for (const { blobId } of picturesIn({ ...data, blob: stored }))
      if (blobId !== undefined) parts.push({ type: "image", blob: await again(blobId) });
    const path = textIn(data, "type") === "file_ref" ? textIn(data, "path") : undefined;
    const file = path === undefined ? undefined : textIn(stored, "blob_id");
    if (path !== undefined)
      parts.push({ type: "file_ref", path, ...(file !== undefined && { blob: await again(file) }) });
  }
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" ? only.text : parts;
}
