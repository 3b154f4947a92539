// What was begun to be written, and not sent: kept in the browser, for each conversation.
import { useEffect, useRef } from "react";
import { keep, kept } from "../app/kept";

/** Under which name it is kept; without a conversation: what shall begin one. */
export function draftOf(id = ""): string {
  return `draft:${id}`;
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
  else keep(draftOf(id), joined(text, kept(draftOf(id)) ?? "") || null);
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
