// Everything that is added to the next message: pictures, texts and other files.
import type { Capabilities, SentContent } from "@turnwire/client";
import type { useTurnwire } from "@turnwire/client/react";
import { useWords } from "../app/language";
import { useTextFiles } from "./textFiles";
import { isPicture, typeOf, useUploads } from "./uploads";

export type Attachable = ReturnType<typeof useAttachments>;
type Parts = Exclude<SentContent, string>;

/**
 * Takes files for the next message of a conversation, or of one that does not exist yet. The
 * capabilities decide what is taken; while they are unknown everything is, and the server decides.
 */
export function useAttachments(
  client: ReturnType<typeof useTurnwire>,
  id: string | undefined,
  able: Pick<Capabilities, "images" | "files"> | undefined,
  showNotice: (problem: string) => void,
) {
  const words = useWords();
  const uploads = useUploads(client, id, showNotice);
  const texts = useTextFiles();
  const takesPictures = able === undefined || able.images === true;
  const takesFile = (file: File) => able === undefined || isAmong(typeOf(file), able.files ?? []);

  const take = async (files: Iterable<File>) => {
    for (const file of files) {
      if (isPicture(file)) {
        if (takesPictures) uploads.add([file]);
        else showNotice(words.noPictures);
      } else if (!(await texts.add(file))) {
        if (takesFile(file)) uploads.add([file]);
        else showNotice(words.fileNotTaken(file.name));
      }
    }
  };

  /** Returns a name of an attachment that another agent, chosen since, does not take. */
  const refused = () =>
    uploads.all.find(({ file }) => !(isPicture(file) ? takesPictures : takesFile(file)))?.name;

  return {
    uploads,
    texts,
    take: (files: Iterable<File> | null) => void take([...(files ?? [])]),
    takesPictures,
    refused,
  };
}

/** Returns a message of text and uploaded parts; text alone stays a string. */
export function messageOf(text: string, parts: Parts): SentContent {
  return parts.length ? [...(text ? [{ type: "text" as const, text }] : []), ...parts] : text;
}

/** Whether one of the patterns allows the type: the type itself, `text/*`, or all. */
function isAmong(type: string, patterns: readonly string[]): boolean {
  return [type, `${type.split("/")[0]}/*`, "*/*"].some((each) => patterns.includes(each));
}
