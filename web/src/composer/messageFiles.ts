// Everything that is added to the next message: pictures, texts and other files.
import type { Capabilities } from "@turnwire/client";
import { type UsedAttachments, useAttachments as useFiles, type useTurnwire } from "@turnwire/react";
import { useEffect, useRef } from "react";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { byteCount } from "../words/numbers";

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
  const notices = useNotices();
  const shown = useRef(new Map<string, () => void>());
  const refused = useRef(new Set<() => void>());
  const files = useFiles(client, id, {
    able,
    onRefused: showNotice,
    onLongPaste: ({ name, size, isAdded, pasteAsText }) => {
      const text = isAdded ? words.longPaste(name) : words.longPasteRefused(byteCount(size));
      const drop = notices.showNotice(text, "calm", { label: words.pasteAsText, run: pasteAsText });
      if (isAdded) shown.current.set(name, drop);
      else refused.current.add(drop);
    },
    onNotTaken: ({ name, type }) =>
      showNotice(type.startsWith("image/") ? words.noPictures : words.fileNotTaken(name)),
  });
  // A notice offers nothing any more when its file was removed or sent.
  const names = [...files.texts.all, ...files.uploads.all].map(({ name }) => name);
  useEffect(() => {
    for (const [name, drop] of shown.current)
      if (!names.includes(name)) {
        drop();
        shown.current.delete(name);
      }
  });
  useEffect(
    () => () => {
      for (const drop of [...shown.current.values(), ...refused.current]) drop();
    },
    [],
  );
  return files;
}
