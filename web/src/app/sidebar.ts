// On a phone the list of conversations lies over the page.
import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let isOpen = false;

function set(to: boolean): void {
  if (isOpen === to) return;
  isOpen = to;
  for (const listener of [...listeners]) listener();
}

export const openSidebar = () => set(true);
export const closeSidebar = () => set(false);

export function useSidebar(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOpen,
  );
}
