// Keyboard shortcuts. A key without a modifier counts only where nobody types.
import { useEffect, useRef } from "react";

export type Keys = Record<string, (event: KeyboardEvent) => void>;

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** `Mod` is Ctrl, or Command where there is one. */
function nameOf(event: KeyboardEvent): string {
  const mod = event.ctrlKey || event.metaKey ? "Mod+" : "";
  const alt = event.altKey ? "Alt+" : "";
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return mod + alt + key;
}

/** Whether something lies over the page: its keys are its own, and Escape closes it. */
function isBehind(): boolean {
  return document.querySelector("dialog:modal, .veil") !== null;
}

/** Escape, and keys with a modifier, count while typing, too. A key that is held counts once. */
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
