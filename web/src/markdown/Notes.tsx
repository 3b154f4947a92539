// Footnotes: a mark in the text leads to the note, and back.
import type { Token } from "marked";
import { createContext, type MouseEvent, type ReactNode, useContext } from "react";
import { useWords } from "../app/language";
import type { NoteToken } from "./extensions";
import { VisibleText } from "./VisibleText";

/** The numbers of the notes that a text has, by their names. */
export const NoteNumbers = createContext<ReadonlyMap<string, number>>(new Map());

/** Returns the numbers of the notes of a text, in the order in which it refers to them. */
export function noteNumbersIn(tokens: readonly Token[]): ReadonlyMap<string, number> | undefined {
  const notes = new Set<string>();
  const used: string[] = [];
  const look = (part: unknown) => {
    if (typeof part !== "object" || part === null) return;
    const { type, name } = part as Partial<NoteToken>;
    if (type === "note") notes.add(name as string);
    else if (type === "noteRef") used.push(name as string);
    Object.values(part).forEach(look); // a list has items, a table has rows
  };
  look(tokens);
  if (!notes.size) return undefined;
  const ordered = new Set([...used.filter((name) => notes.has(name)), ...notes]);
  return new Map([...ordered].map((name, at) => [name, at + 1]));
}

/** Goes to another element with the same name in the same text. */
function leadTo(event: MouseEvent, selector: string, name: string): void {
  const all = event.currentTarget.closest(".markdown")?.querySelectorAll<HTMLElement>(selector) ?? [];
  const to = [...all].find((each) => each.dataset.note === name);
  to?.focus();
  to?.scrollIntoView({ block: "nearest" });
}

export function NoteRef({ name, source }: { name: string; source: string }) {
  const words = useWords();
  const number = useContext(NoteNumbers).get(name);
  if (number === undefined) return <VisibleText text={source} />;
  return (
    <sup>
      <button
        type="button"
        className="note-ref"
        data-note={name}
        aria-label={words.noteRef(number)}
        onClick={(event) => leadTo(event, ".note", name)}
      >
        {number}
      </button>
    </sup>
  );
}

export function Note({ name, children }: { name: string; children: ReactNode }) {
  const words = useWords();
  const number = useContext(NoteNumbers).get(name) ?? 1;
  return (
    <p className="note" data-note={name} tabIndex={-1}>
      <button
        type="button"
        className="note-ref"
        aria-label={words.noteBack(number)}
        onClick={(event) => leadTo(event, "sup > .note-ref", name)}
      >
        {number}
      </button>{" "}
      {children}
    </p>
  );
}
