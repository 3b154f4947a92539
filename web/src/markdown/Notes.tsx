// Footnotes: a mark in the text leads to the note, and back.
import { createContext, type MouseEvent, type ReactNode, useContext } from "react";
import { useWords } from "../app/language";
import { VisibleText } from "./VisibleText";

/** The names of the notes that a text has. */
export const NoteNames = createContext<ReadonlySet<string>>(new Set());

/** Goes to another element with the same name in the same text. */
function leadTo(event: MouseEvent, selector: string, name: string): void {
  const all = event.currentTarget.closest(".markdown")?.querySelectorAll<HTMLElement>(selector) ?? [];
  const to = [...all].find((each) => each.dataset.note === name);
  to?.focus();
  to?.scrollIntoView({ block: "nearest" });
}

export function NoteRef({ name, source }: { name: string; source: string }) {
  const words = useWords();
  if (!useContext(NoteNames).has(name)) return <VisibleText text={source} />;
  return (
    <sup>
      <button
        type="button"
        className="note-ref"
        data-note={name}
        aria-label={words.noteRef(name)}
        onClick={(event) => leadTo(event, ".note", name)}
      >
        <VisibleText text={name} />
      </button>
    </sup>
  );
}

export function Note({ name, children }: { name: string; children: ReactNode }) {
  const words = useWords();
  return (
    <p className="note" data-note={name} tabIndex={-1}>
      <button
        type="button"
        className="note-ref"
        aria-label={words.noteBack(name)}
        onClick={(event) => leadTo(event, "sup > .note-ref", name)}
      >
        <VisibleText text={name} />
      </button>{" "}
      {children}
    </p>
  );
}
