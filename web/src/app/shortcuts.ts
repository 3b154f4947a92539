// Keyboard shortcuts. A key without a modifier works only outside of text fields.
import { useEffect, useRef } from "react";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** `Mod` is Ctrl, or Command on a Mac. */
function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? "Mod+" : "";
  const alt = event.altKey ? "Alt+" : "";
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return mod + alt + key;
}

/** Whether a dialog covers the page: then only its own keys work, and Escape closes it. */
function isBehind(): boolean {
  return document.querySelector("dialog:modal, .veil") !== null;
}

/** Escape and keys with a modifier also work while typing. A held key counts once. */
export function useKeys(keys: Keys, isOn = true): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    if (!isOn) return;
    const hear = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      const name = nameOf(event);
      const always = name.includes("+") || name === "Escape";
      const does = latest.current[name];
      if (does === undefined || (!always && isTyping(event.target))) return;
      if (isBehind()) return;
      does(event);
    };
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, [isOn]);
}
