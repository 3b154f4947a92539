// Uses a message again: it is sent once more, in a fork or as a new turn, or edited before. The log
// keeps the first one.
import type { BlockView, MessageView, SentContent } from "@turnwire/client";
import { upload, type useTurnwire } from "@turnwire/react";
import { loadBlob } from "../app/files";
import { picturesIn, textIn } from "../tools/toolValues";

/** A picture or a file of a message. */
interface Part {
  /** Its content on the server; absent: a file that the agent has. */
  blobId?: string | undefined;
  mimeType?: string | undefined;
  /** The path of a file; absent: it is a picture. */
  path?: string | undefined;
}

function partsOf(block: BlockView): Part[] {
  if (block.type !== "block") return [];
  const data = block.block as { blob?: unknown };
  const mimeType = textIn(data, "mime_type");
  const stored = block.blob ?? data.blob;
  const pictures = picturesIn({ ...data, blob: stored }).filter(({ blobId }) => blobId !== undefined);
  const parts: Part[] = pictures.map(({ blobId }) => ({ blobId, mimeType }));
  const path = textIn(data, "type") === "file_ref" ? textIn(data, "path") : undefined;
  if (path !== undefined) parts.push({ path, blobId: textIn(stored, "blob_id"), mimeType });
  return parts;
}

/** Returns the content of a message, for another conversation: its pictures and files are uploaded again. */
export async function contentFor(
  client: ReturnType<typeof useTurnwire>,
  conversation: string,
  message: MessageView,
): Promise<SentContent> {
  const parts: Exclude<SentContent, string> = [];
  for (const block of message.blocks) {
    if (block.type === "text") parts.push({ type: "text", text: block.text });
    for (const { blobId, mimeType, path } of partsOf(block)) {
      const blob =
        blobId === undefined
          ? undefined
          : { blob_id: await upload(client, conversation, await loadBlob(blobId), mimeType) };
      if (path !== undefined) parts.push({ type: "file_ref", path, ...(blob && { blob }) });
      else if (blob) parts.push({ type: "image", blob });
    }
  }
  const [only] = parts;
  return parts.length === 1 && only?.type === "text" ? only.text : parts;
}

/** Returns the pictures and files of a message, to be added to another one. */
export async function filesOf(message: MessageView): Promise<File[]> {
  const files: File[] = [];
  for (const { blobId, mimeType, path } of message.blocks.flatMap(partsOf)) {
    if (blobId === undefined) continue;
    const content = await loadBlob(blobId);
    const type = mimeType ?? content.type;
    files.push(new File([content], path?.split(/[/\\]/).pop() || type.replace("/", "."), { type }));
  }
  return files;
}
