// Drafts: text that was not sent yet, stored in the browser for each conversation.
import { type Draft, joinTexts, type StartedReply } from "@turnwire/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { readStored, store, storedNames, useStored } from "../app/browserStorage";

/** Milliseconds after the last key. */
const SAVED_AFTER = 200;

/** The name under which a draft is stored; without an id, the draft of a new conversation. */
export function draftName(id = ""): string {
  return `draft:${id}`;
}

/** The name under which it is stored how full the context of a conversation's agent is. */
export function contextName(id: string): string {
  return `context:${id}`;
}

/** The name under which a started answer or an edit of a queued message is stored. */
export function startedTextName(kind: "answer" | "edit", conversation: string, id: string): string {
  return `${kind}:${encodeURIComponent(conversation)}:${id}`;
}

/** Returns the JSON stored under this name; undefined if there is none, or it is invalid. */
export function readStartedText<T>(name: string): T | undefined {
  try {
    return (JSON.parse(readStored(name) ?? "null") as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a started answer to a request, so that it survives a reload of the page. */
export function useStartedAnswer(conversation: string, request: string): StartedReply {
  return useMemo(() => {
    const name = startedTextName("answer", conversation, request);
    return {
      read: () => readStartedText(name),
      write: (reply) => store(name, reply === undefined ? null : JSON.stringify(reply)),
    };
  }, [conversation, request]);
}

/**
 * Deletes the stored answers or edits of all but these ids: the others are answered, or have left
 * the queue.
 */
export function deleteOtherStartedTexts(
  kind: "answer" | "edit",
  conversation: string,
  ids: readonly string[],
): void {
  const names = new Set(ids.map((id) => startedTextName(kind, conversation, id)));
  for (const name of storedNames(startedTextName(kind, conversation, "")))
    if (!names.has(name)) store(name, null);
}

/** Conversations that were deleted while this page was open: their drafts are not stored. */
const deleted = new Set<string>();

/** Deletes all drafts of a deleted conversation, and the state of its gauge, in all tabs. */
export function deleteDrafts(conversation: string): void {
  deleted.add(draftName(conversation));
  store(draftName(conversation), null);
  store(contextName(conversation), null);
  deleteOtherStartedTexts("answer", conversation, []);
  deleteOtherStartedTexts("edit", conversation, []);
}

/** A draft that all tabs share. Each tab stores only its own changes. */
export function useDraft(name: string): Draft {
  const [text, setText] = useState(() => readStored(name) ?? "");
  const latest = useRef(text);
  const known = useRef(text); // the text that all tabs share
  const save = useCallback(() => {
    if (latest.current === known.current) return;
    known.current = latest.current;
    if (!deleted.has(name)) store(name, latest.current || null);
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

  const [told] = useStored(name);
  useEffect(() => {
    const there = told ?? "";
    if (there === known.current) return;
    const isOwn = latest.current !== known.current; // do not overwrite unsaved text of this tab
    known.current = there;
    if (isOwn) return;
    latest.current = there;
    setText(there);
  }, [told]);
  return { text, latest, write };
}

/** The mounted composers, by conversation. */
const fields = new Map<string, (join: (before: string) => string) => void>();

/** Puts the text of a message that was not sent back into the composer, before the current text. */
export function returnText(id: string, text: string): void {
  changeText(id, (before) => joinTexts(text, before));
}

/** Adds text to the composer, after the current text. */
export function appendText(id: string, text: string): void {
  changeText(id, (before) => joinTexts(before.trimEnd(), text));
}

function changeText(id: string, join: (before: string) => string): void {
  const field = fields.get(id);
  if (field) field(join);
  else if (!deleted.has(draftName(id))) store(draftName(id), join(readStored(draftName(id)) ?? "") || null);
}

/** Receives such text while this composer is mounted. */
export function useReturnedText(id: string, take: (join: (before: string) => string) => void): void {
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const field = (join: (before: string) => string) => latest.current(join);
    fields.set(id, field);
    return () => {
      if (fields.get(id) === field) fields.delete(id);
    };
  }, [id]);
}
