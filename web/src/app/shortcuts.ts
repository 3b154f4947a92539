// Keyboard shortcuts: the one mapping of their names to keys, which people change in the settings.
import { useEffect, useRef } from "react";
import { readStored, useStored } from "./browserStorage";

/** `Mod` is Ctrl, or Command on a Mac. A key without a modifier works only outside of text fields. */
export const DEFAULTS = {
  palette: "Mod+k",
  new: "c",
  search: "s",
  inbox: "g",
  back: "b",
  next: "j",
  previous: "k",
  list: "l",
  theme: "t",
  help: "?",
  find: "Mod+f",
  write: "i",
  agent: "m",
  earlier: "[",
  later: "]",
  quote: "q",
  stop: "Escape",
  allow: "y",
  deny: "n",
  always: "a",
};
export type Shortcut = keyof typeof DEFAULTS;
/** The key of each shortcut. Null: it is switched off. */
export type Keys = Record<Shortcut, string | null>;

export const SHORTCUTS = Object.keys(DEFAULTS) as Shortcut[];
/** Where the changed keys are stored, in all tabs of the browser. */
export const STORED = "keys";
/** A sign alone, and what browsers and typing leave to pages with Ctrl or Command, and with Alt. */
const POSSIBLE = /^(\S|Mod\+[beik;./'\\]|Alt\+(?![defvsbth\d])[!-~])$/;

export const isPossible = (key: string) => POSSIBLE.test(key);

/** Returns what is stored. It may be anything. */
export function storedKeys(text: string | null): Partial<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text ?? ""));
  } catch {
    return {};
  }
}

let last: { text: string | null; keys: Keys } | undefined;

/** Returns the keys for a stored text. What is invalid in it is ignored; of two with one key the first has it. */
function keysIn(text: string | null): Keys {
  if (last?.text === text) return last.keys;
  const changed = storedKeys(text);
  const keys: Keys = { ...DEFAULTS };
  const taken = new Set<string | null>();
  for (const name of SHORTCUTS) {
    const told = changed[name];
    const key = told === null ? null : isPossible(`${told}`) ? `${told}` : DEFAULTS[name];
    keys[name] = taken.has(key) ? null : key;
    taken.add(key);
  }
  last = { text, keys };
  return keys;
}

export function useShortcuts(): Keys {
  return keysIn(useStored(STORED)[0]);
}

const MOD = /^(Mac|iP)/.test(globalThis.navigator?.platform ?? "") ? "⌘" : "Ctrl";

/** Returns the parts of a key as people know them: Ctrl and K. */
export function partsOf(key: string): string[] {
  const parts = key.split(/\+(?=.)/);
  const isLetter = parts.length > 1;
  return parts.map((each) =>
    each === "Mod"
      ? MOD
      : each === "Escape"
        ? "Esc"
        : isLetter && each.length === 1
          ? each.toUpperCase()
          : each,
  );
}

export const labelOf = (key: string) => partsOf(key).join("+");

/** Returns a function that adds the key of a shortcut to a text, if it has one: "Inbox (g)". */
export function useTooltip(): (text: string, name: Shortcut) => string {
  const keys = useShortcuts();
  return (text, name) => (keys[name] === null ? text : `${text} (${labelOf(keys[name])})`);
}

export function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

type Pressed = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey"> & {
  getModifierState: (key: "AltGraph") => boolean;
};

/** Returns the name of a pressed key, such as `c` or `Mod+k`. AltGr is a part of the sign that it types. */
export function keyOf(event: Pressed): string {
  const { key } = event;
  const isSign = key.length === 1;
  const isPlain = isSign && event.getModifierState("AltGraph");
  const mod = !isPlain && (event.ctrlKey || event.metaKey) ? "Mod+" : "";
  const alt = !isPlain && event.altKey ? "Alt+" : "";
  const shift = event.shiftKey && (mod || alt) ? "Shift+" : "";
  return mod + alt + shift + (isSign ? key.toLowerCase() : key);
}

/** Whether a dialog covers the page: then only its own keys work, and Escape closes it. */
function isBehind(): boolean {
  return document.querySelector("dialog:modal, .veil") !== null;
}

/** Returns false if it leaves the key to the browser. */
type Run = (event: KeyboardEvent) => unknown;

/**
 * Runs shortcuts by their keys. `leave` is always Escape. Escape and keys with a modifier also work while
 * typing. A held key counts once.
 */
export function useKeys(runs: Partial<Record<Shortcut | "leave", Run>>, isOn = true): void {
  const latest = useRef(runs);
  latest.current = runs;
  useEffect(() => {
    if (!isOn) return;
    const hear = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      const pressed = keyOf(event);
      if (pressed.length === 1 && isTyping(event.target)) return;
      const keys = { ...keysIn(readStored(STORED)), leave: "Escape" };
      const all = Object.entries(latest.current) as [keyof typeof keys, Run][];
      const run = all.find(([name]) => keys[name] === pressed)?.[1];
      if (run && !isBehind() && run(event) !== false) event.preventDefault();
    };
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, [isOn]);
}
