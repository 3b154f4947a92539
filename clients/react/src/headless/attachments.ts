// The files that a person adds to the next message, without their looks.
//
// A picture is uploaded, if the agent takes pictures. A text becomes a part of the message, so that
// every agent can read it. Any other file is uploaded, if the agent takes files of its type.

import type { BaseClient, Capabilities, SentContent } from "@turnwire/client";
import { type ClipboardEvent, useState } from "react";
import type { Attached } from "./composer.js";
import { fileElement, MOST_BYTES, readText } from "./file_element.js";
import { insertText, isLongText, type PastedText, pastedName, usePlainPaste } from "./pasted_text.js";
import { contentOf, isPicture, typeOf, type Uploads, useUploads } from "./uploads.js";

export interface TextFile {
  key: number;
  name: string;
  text: string;
}

export interface AttachmentOptions {
  /** What the agent takes. Unknown: everything is taken, and the server decides. */
  able: Pick<Capabilities, "images" | "files"> | undefined;
  /** Is called with the words of the server for an upload that it refuses. */
  onRefused: (problem: string) => void;
  /** Is called with a file that the agent does not take. */
  onNotTaken: (file: File) => void;
  /**
   * Is called with a long text that was pasted, and became a file. Absent: every text is pasted into
   * the field.
   */
  onLongPaste?: ((pasted: PastedText) => void) | undefined;
}

export interface UsedAttachments {
  readonly uploads: Uploads;
  readonly texts: {
    readonly all: readonly TextFile[];
    readonly remove: (gone: TextFile) => void;
    readonly joinedTo: (text: string) => string;
  };
  /** Adds chosen, pasted or dropped files. */
  readonly take: (files: Iterable<File> | null) => void;
  /** Takes a pasted text that is too long for the field. Returns whether it did. */
  readonly takeText: (text: string, field: HTMLTextAreaElement) => boolean;
  readonly takesPictures: boolean;
  /** Returns the name of a file that another agent, chosen since, does not take. */
  readonly refused: () => string | undefined;
  /** What `useComposer` sends besides the text. */
  readonly attached: Attached;
}

/** Takes files for the next message of a conversation, or of one that does not exist yet. */
export function useAttachments(
  client: BaseClient,
  id: string | undefined,
  { able, onRefused, onNotTaken, onLongPaste }: AttachmentOptions,
): UsedAttachments {
  const uploads = useUploads(client, id, onRefused);
  const texts = useTextFiles();
  const isPlainPaste = usePlainPaste(onLongPaste !== undefined);
  const takesPictures = able === undefined || able.images === true;
  const takes = (file: File) =>
    isPicture(file) ? takesPictures : able === undefined || isAmong(typeOf(file), able.files ?? []);

  const take = async (files: Iterable<File>) => {
    for (const file of files) {
      if (!isPicture(file) && (await texts.add(file))) continue;
      if (takes(file)) uploads.add([file]);
      else onNotTaken(file);
    }
  };

  const takeText = (pasted: string, field: HTMLTextAreaElement): boolean => {
    if (onLongPaste === undefined || isPlainPaste() || !isLongText(pasted)) return false;
    const text = pasted.replace(/\r\n?/g, "\n");
    const name = pastedName([...texts.all, ...uploads.all].map((each) => each.name));
    const file = new File([text], name, { type: "text/plain" });
    const remove =
      file.size <= MOST_BYTES ? texts.put(name, text) : takes(file) ? uploads.add([file]) : undefined;
    const pasteAsText = () => {
      if (insertText(field, text)) remove?.();
    };
    onLongPaste({ name, size: file.size, isAdded: remove !== undefined, pasteAsText });
    return true;
  };

  return {
    uploads,
    texts,
    takeText,
    take: (files) => void take([...(files ?? [])]),
    takesPictures,
    refused: () => uploads.all.find(({ file }) => !takes(file))?.name,
    attached: {
      count: uploads.all.length + texts.all.length,
      isBusy: uploads.isBusy,
      take: (words) => {
        const content = messageOf(texts.joinedTo(words), uploads.all.map(contentOf));
        const putBackTexts = texts.take();
        const { done, putBack } = uploads.take();
        const refused = () => {
          putBackTexts();
          putBack();
        };
        return { content, sent: done, refused };
      },
    },
  };
}

/** Returns a message of text and uploaded parts; text alone stays a string. */
export function messageOf(text: string, parts: Exclude<SentContent, string>): SentContent {
  return parts.length ? [...(text ? [{ type: "text" as const, text }] : []), ...parts] : text;
}

/**
 * Takes files and long texts from the clipboard; another text is pasted as usual. Many programs add
 * an image of the text: ignores it without a notice.
 */
export function pasteFiles(
  event: ClipboardEvent<HTMLTextAreaElement>,
  { take, takeText, takesPictures }: Pick<UsedAttachments, "take" | "takeText" | "takesPictures">,
): void {
  const { files } = event.clipboardData;
  const words = event.clipboardData.getData("text/plain");
  if (takeText(words, event.currentTarget)) event.preventDefault();
  if (!files.length) return;
  const hasWords = words !== "";
  if (!hasWords) event.preventDefault();
  if (takesPictures || !hasWords) take(files);
}

/** Whether one of the patterns allows the type: the type itself, `text/*`, or all. */
function isAmong(type: string, patterns: readonly string[]): boolean {
  return [type, `${type.split("/")[0]}/*`, "*/*"].some((each) => patterns.includes(each));
}

let keys = 0;

/** Text files of the next message. Their content becomes a part of its text. */
function useTextFiles() {
  const [all, setAll] = useState<readonly TextFile[]>([]);
  const remove = (gone: TextFile) => setAll((now) => now.filter((each) => each !== gone));
  /** Adds a text. Returns a function that removes it. */
  const put = (name: string, text: string) => {
    keys += 1;
    const added = { key: keys, name, text };
    setAll((now) => [...now, added]);
    return () => remove(added);
  };
  return {
    all,
    put,
    remove,
    /** Adds a file. Returns false if it is not a text, or is too long. */
    add: async (file: File): Promise<boolean> => {
      const text = await readText(file);
      if (text === undefined) return false;
      put(file.name, text);
      return true;
    },
    /** Returns the text of a message with the files. */
    joinedTo: (said: string) =>
      [said, ...all.map(({ name, text }) => fileElement(name, text))].filter(Boolean).join("\n\n"),
    /** Takes them all for a message. Returns a function that puts them back after a refusal. */
    take: () => {
      setAll([]);
      return () => setAll((now) => [...all, ...now]);
    },
  };
}
