// A long text that a person pastes: it becomes a file of the message, and does not fill the field.
import { useEffect, useRef } from "react";
import { isTouch } from "./composer.js";

/** A pasted text with more characters or lines than these is long. */
const MOST_CHARACTERS = 5_000;
const MOST_LINES = 150;

export interface PastedText {
  /** The name of the file. */
  name: string;
  /** Its size in bytes. */
  size: number;
  /** Whether it was added; otherwise the agent does not take a file of this size, and nothing was pasted. */
  isAdded: boolean;
  /** Removes the file, and puts the text at the cursor of the field. */
  pasteAsText: () => void;
}

export function isLongText(text: string): boolean {
  return text.length > MOST_CHARACTERS || text.split("\n", MOST_LINES + 1).length > MOST_LINES;
}

/** Returns a name for the file that no other file of the message has. */
export function pastedName(taken: readonly string[]): string {
  let name = "pasted-text.txt";
  for (let number = 2; taken.includes(name); number += 1) name = `pasted-text-${number}.txt`;
  return name;
}

/** Puts text at the cursor of a field, as if it were typed. Returns false if the field was removed. */
export function insertText(field: HTMLTextAreaElement, text: string): boolean {
  if (!field.isConnected) return false;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertFromPaste" }));
  if (!isTouch()) field.focus();
  return true;
}

/**
 * Returns a function that tells whether a paste is one of Ctrl+Shift+V. The event of the clipboard
 * does not say it, so the keys before it count.
 */
export function usePlainPaste(isOn: boolean): () => boolean {
  const isPlain = useRef(false);
  useEffect(() => {
    if (!isOn) return;
    const hear = (event: Event) => {
      const { ctrlKey, metaKey, shiftKey, code, key } = event as KeyboardEvent;
      // With Alt, as some programs of a Mac want it, the key is another letter.
      const isV = code === "KeyV" || key?.toLowerCase() === "v";
      isPlain.current = (ctrlKey || metaKey) && shiftKey && isV;
    };
    addEventListener("keydown", hear, true);
    addEventListener("pointerdown", hear, true); // a menu pastes, too
    return () => {
      removeEventListener("keydown", hear, true);
      removeEventListener("pointerdown", hear, true);
    };
  }, [isOn]);
  return () => isPlain.current;
}
