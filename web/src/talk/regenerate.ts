// Answers a message again: the message is sent once more, in a fork or as a new turn. The log keeps
// the first answer.
import type { MessageView, SentContent } from "@turnwire/client";
import type { useTurnwire } from "@turnwire/client/react";
import { loadBlob } from "../app/files";
import { pictureOf, upload } from "../composer/imageUploads";
import { picturesIn } from "../tools/toolValues";

/** Returns the content of a message, for another conversation: its pictures are uploaded again. */
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
    for (const { blobId } of picturesIn({ ...data, blob: block.blob ?? data.blob })) {
      if (blobId === undefined) continue;
      const file = await loadBlob(blobId);
      parts.push(pictureOf(await upload(client, conversation, file)));
    }
  }
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" ? only.text : parts;
}
