// What was begun to be written, and not sent: kept in the browser, for each conversation.
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import { keep, kept, namesOf, useKept } from "../app/kept";

/** Milliseconds after the last letter. */
const SAVED_AFTER = 200;

/** Under which name it is kept; without a conversation: what shall begin one. */
export function draftOf(id = ""): string {
  return `draft:${id}`;
}

/** Under which name an answer is kept that was begun, or an edit of a waiting message. */
export function begunOf(kind: "answer" | "edit", conversation: string, id: string): string {
  return `${kind}:${encodeURIComponent(conversation)}:${id}`;
}

/** What was kept under this name as JSON; undefined if there is nothing, or nothing that can be read. */
export function begun<T>(name: string): T | undefined {
  try {
    return (JSON.parse(kept(name) ?? "null") as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Forgets what was begun of this kind for all but these ids: they are answered, or do not wait any more. */
export function forgetOthers(kind: "answer" | "edit", conversation: string, ids: readonly string[]): void {
  const names = new Set(ids.map((id) => begunOf(kind, conversation, id)));
  for (const name of namesOf(begunOf(kind, conversation, ""))) if (!names.has(name)) keep(name, null);
}

/** Conversations that were deleted while this page was open: what is written for them is not kept. */
const deleted = new Set<string>();

/** Forgets all that was begun to be written in a conversation that was deleted. All tabs see it. */
export function forgetDrafts(conversation: string): void {
  deleted.add(draftOf(conversation));
  keep(draftOf(conversation), null);
  forgetOthers("answer", conversation, []);
  forgetOthers("edit", conversation, []);
}

interface Draft {
  text: string;
  /** Also what is not drawn yet: the page may be left before it is. */
  latest: RefObject<string>;
  write: (text: string, when?: "now") => void;
}

/** The same in all tabs. Only what was written in this one is kept by it. */
export function useDraft(name: string): Draft {
  const [text, setText] = useState(() => kept(name) ?? "");
  const latest = useRef(text);
  const known = useRef(text); // what all tabs know
  const save = useCallback(() => {
    if (latest.current === known.current) return;
    known.current = latest.current;
    if (!deleted.has(name)) keep(name, latest.current || null);
  }, [name]);
  const write = (to: string, when?: "now") => {
    latest.current = to;
    setText(to);
    if (when) save();
  };
  useEffect(() => {
    if (text === known.current) return;
    const timer = setTimeout(save, SAVED_AFTER);
    return () => clearTimeout(timer);
  }, [text, save]);
  useEffect(() => {
    addEventListener("pagehide", save);
    return () => {
      removeEventListener("pagehide", save);
      save();
    };
  }, [save]);

  const [told] = useKept(name);
  useEffect(() => {
    const there = told ?? "";
    if (there === known.current) return;
    const isOwn = latest.current !== known.current; // nobody writes over what is just being written
    known.current = there;
    if (isOwn) return;
    latest.current = there;
    setText(there);
  }, [told]);
  return { text, latest, write };
}

/** Both texts: neither may be lost. */
export function joined(text: string, more: string): string {
  return text && more ? `${text}\n\n${more}` : text || more;
}

/** The fields that are there, by their conversations. */
const fields = new Map<string, (text: string) => void>();

/** Words that were not said after all go back to where one writes, before what is there by now. */
export function giveBack(id: string, text: string): void {
  const field = fields.get(id);
  if (field) field(text);
  else if (!deleted.has(draftOf(id))) keep(draftOf(id), joined(text, kept(draftOf(id)) ?? "") || null);
}

/** As long as this field is there, what is given back comes to it. */
export function useGivenBack(id: string, take: (text: string) => void): void {
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const field = (text: string) => latest.current(text);
    fields.set(id, field);
    return () => {
      if (fields.get(id) === field) fields.delete(id);
    };
  }, [id]);
}
