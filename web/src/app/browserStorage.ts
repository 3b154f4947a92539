// Browser storage: theme, language, drafts, unsent messages. Never a token. The client stores the
// page key, which is useless without the cookie, and no script can read the cookie.
import { useCallback, useSyncExternalStore } from "react";

const PREFIX = "turnwire:";
const listeners = new Set<() => void>();
// Absent in tests without a browser.
globalThis.addEventListener?.("storage", () => {
  for (const listener of [...listeners]) listener();
});

export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null; // a browser may forbid storage
  }
}

/** Returns all stored names with this prefix, sorted. */
export function storedNames(beginning: string): string[] {
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(PREFIX + beginning))
      .map((name) => name.slice(PREFIX.length))
      .sort();
  } catch {
    return [];
  }
}

/** Stores a value; null deletes it. */
export function store(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Then the value is lost with the page.
  }
  for (const listener of [...listeners]) listener();
}

/** Deletes everything that the page has stored, except for the values of these names. */
export function deleteStored(except: string[]): void {
  for (const name of storedNames("")) if (!except.includes(name)) store(name, null);
}

/** Marks this tab as the only one that works on the value of this name. */
export function markTab(name: string): void {
  try {
    sessionStorage.setItem(`${PREFIX}tab`, name);
  } catch {
    // Then a reloaded page of this tab does not know it.
  }
}

/** Whether this tab works on the value of this name, also after a reload. */
export function isOfThisTab(name: string): boolean {
  try {
    return sessionStorage.getItem(`${PREFIX}tab`) === name;
  } catch {
    return false;
  }
}

/** A stored value that all tabs share. */
export function useStored(name: string): [string | null, (value: string | null) => void] {
  const value = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => readStored(name),
  );
  const change = useCallback((to: string | null) => store(name, to), [name]);
  return [value, change];
}
