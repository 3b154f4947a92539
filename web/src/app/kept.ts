// Small things that a browser remembers: a theme, a language, drafts, what is on its way. Never a token; the page
// key is the client's, and opens nothing without the cookie, which no script can read.
import { useCallback, useSyncExternalStore } from "react";

const PREFIX = "turnwire:";
const listeners = new Set<() => void>();
addEventListener("storage", () => {
  for (const listener of [...listeners]) listener();
});

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null; // a browser may forbid it
  }
}

/** The names of all that is remembered under this beginning, sorted. */
export function namesOf(beginning: string): string[] {
  try {
    return Object.keys(localStorage)
      .filter((name) => name.startsWith(PREFIX + beginning))
      .map((name) => name.slice(PREFIX.length))
      .sort();
  } catch {
    return [];
  }
}

/** Remembers it; without a value, forgets it. */
export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // Then it is gone with the page.
  }
  for (const listener of [...listeners]) listener();
}

/** Remembers that this tab, and no other, works on what is kept under this name: one at a time. */
export function markTab(name: string): void {
  try {
    sessionStorage.setItem(`${PREFIX}tab`, name);
  } catch {
    // Then another page of this tab does not know it.
  }
}

/** Whether this tab works on what is kept under this name, after a reload too. */
export function isOfTab(name: string): boolean {
  try {
    return sessionStorage.getItem(`${PREFIX}tab`) === name;
  } catch {
    return false;
  }
}

/** The same in all tabs. */
export function useKept(name: string): [string | null, (value: string | null) => void] {
  const value = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => kept(name),
  );
  const change = useCallback((to: string | null) => keep(name, to), [name]);
  return [value, change];
}
