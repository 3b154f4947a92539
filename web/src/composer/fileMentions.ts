// Files below the working directory, offered after an @ in a message.
import type { useTurnwire } from "@turnwire/react";
import { type KeyboardEvent, type RefObject, useEffect, useState } from "react";
import type { Choice } from "./CommandList";

type Client = ReturnType<typeof useTurnwire>;

/** Milliseconds after the last key before the server is asked. */
const PAUSE = 120;
const SHOWN = 20;

/** An @ and the beginning of a path, before the cursor. */
export interface Mention {
  /** The index of the @. */
  from: number;
  sought: string;
}

/** Returns the mention that ends at the cursor; undefined if there is none. */
export function mentionAt(text: string, cursor: number): Mention | undefined {
  const found = /(?:^|[\s(])@([^\s@]{0,200})$/.exec(text.slice(0, cursor));
  const sought = found?.[1];
  return sought === undefined ? undefined : { from: cursor - sought.length - 1, sought };
}

/** Returns the text with a path instead of the mention, and the cursor behind it. */
export function withPath(text: string, cursor: number, { from }: Mention, path: string) {
  const named = /\s/.test(path) ? `@"${path}" ` : `@${path} `;
  const rest = text.slice(cursor).replace(/^ /, "");
  return { text: text.slice(0, from) + named + rest, cursor: from + named.length };
}

export interface MentionChoice extends Choice {
  /** Called after each change of the text or the cursor. */
  typed: (text: string) => void;
}

/** Where files are looked for: below the directory of a conversation, or of one that will begin there. */
export type FilePlace = { conversation: string } | { directory: string };

function addressOf(place: FilePlace): string {
  if ("conversation" in place) return `/api/conversations/${encodeURIComponent(place.conversation)}/files?`;
  return `/api/directories/files?${place.directory ? `path=${encodeURIComponent(place.directory)}&` : ""}`;
}

/** The list of files after an @; `complete` writes the chosen one. */
export function useMentions(
  client: Client,
  place: FilePlace,
  field: RefObject<HTMLTextAreaElement | null>,
  complete: (text: string) => void,
): MentionChoice {
  const [mention, setMention] = useState<Mention>();
  const [files, setFiles] = useState<{ sought: string; paths: string[] }>();
  const [at, setAt] = useState(0);
  const sought = mention?.sought;
  const address = addressOf(place);
  useEffect(() => {
    if (sought === undefined) return;
    let isGone = false;
    const timer = setTimeout(() => {
      client
        .request<{ files: string[] }>("GET", `${address}q=${encodeURIComponent(sought)}&limit=${SHOWN}`)
        .then(
          (told) => isGone || setFiles({ sought, paths: told.files }),
          () => {}, // without the list, typing still works
        );
    }, PAUSE);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [client, address, sought]);
  const paths = mention && files ? files.paths : [];
  const found = paths.map((path) => ({ name: path }));
  const close = () => setMention(undefined);
  const choose = ({ name }: { name: string }) => {
    const area = field.current;
    close();
    if (!area || !mention) return;
    const written = withPath(area.value, area.selectionStart, mention, name);
    complete(written.text);
    requestAnimationFrame(() => area.setSelectionRange(written.cursor, written.cursor));
  };
  const typed = (text: string) => {
    setAt(0);
    setMention(mentionAt(text, field.current?.selectionStart ?? text.length));
  };
  const pressed = (event: KeyboardEvent): boolean => {
    if (!mention || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return false;
    const chosen = found[at];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" && found.length) close();
    else if (chosen === undefined) return false;
    else if (step) setAt((at + step + found.length) % found.length);
    else if (event.key === "Tab" || event.key === "Enter") choose(chosen);
    else return false;
    event.preventDefault();
    return true;
  };
  return { isOpen: found.length > 0, isLoading: false, found, at, typed, pressed, choose, close };
}
