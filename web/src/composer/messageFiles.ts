// Everything that is added to the next message: pictures, texts and other files.
import type { Capabilities } from "@turnwire/client";
import { type UsedAttachments, useAttachments as useFiles, type useTurnwire } from "@turnwire/react";
import { useWords } from "../app/language";

export { messageOf } from "@turnwire/react";

export type Attachable = UsedAttachments;

/** Takes files for the next message, and shows what is refused as a notice. */
export function useAttachments(
  client: ReturnType<typeof useTurnwire>,
  id: string | undefined,
  able: Pick<Capabilities, "images" | "files"> | undefined,
  showNotice: (problem: string) => void,
): Attachable {
  const words = useWords();
  return useFiles(client, id, {
    able,
    onRefused: showNotice,
    onNotTaken: ({ name, type }) =>
      showNotice(type.startsWith("image/") ? words.noPictures : words.fileNotTaken(name)),
  });
}
