// Keys that a person presses while a part of the page is being loaded: they are meant for that part.
import { useEffect, useRef } from "react";

export interface Held {
  text: string;
  /** Whether Enter was pressed after it. */
  isEntered: boolean;
}

/** Keeps what is typed while it is mounted. Escape gives up. */
export function HeldKeys({ held, close }: { held: Held; close: () => void }) {
  const leave = useRef(close);
  leave.current = close;
  useEffect(() => {
    const hold = (event: KeyboardEvent) => {
      const { key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (key === "Escape") leave.current();
      else if (key === "Enter") held.isEntered = held.text !== "";
      else if (key === "Backspace") held.text = held.text.slice(0, -1);
      else if ([...key].length === 1) held.text += key;
      else return;
      event.preventDefault();
      event.stopImmediatePropagation(); // it is no shortcut
    };
    addEventListener("keydown", hold, true);
    return () => removeEventListener("keydown", hold, true);
  }, [held]);
  return null;
}
