// On a phone the list of conversations covers the page.
import { type RefObject, useEffect, useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let isOpen = false;

function set(to: boolean): void {
  if (isOpen === to) return;
  isOpen = to;
  for (const listener of [...listeners]) listener();
}

export const openSidebar = () => set(true);
export const closeSidebar = () => set(false);

/** Makes the list modal: moves the focus to it, makes the page inert, and closes it on Escape. */
export function useOver(list: RefObject<HTMLElement | null>, isOver: boolean): void {
  useEffect(() => {
    const element = list.current;
    if (!isOver || !element) return;
    const before = document.activeElement as HTMLElement | null;
    const behind = [...(element.parentElement?.children ?? [])].filter((each) => each.localName === "main");
    for (const each of behind) each.toggleAttribute("inert", true);
    element.querySelector<HTMLElement>("a, button")?.focus();
    const leave = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return; // Escape has closed a menu in it
      event.preventDefault();
      closeSidebar();
    };
    const wide = matchMedia("(width > 46rem)"); // on a wide screen it does not cover the page
    addEventListener("keydown", leave);
    wide.addEventListener("change", closeSidebar);
    return () => {
      removeEventListener("keydown", leave);
      wide.removeEventListener("change", closeSidebar);
      for (const each of behind) each.toggleAttribute("inert", false);
      before?.focus();
    };
  }, [list, isOver]);
}

export function useSidebar(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => isOpen,
  );
}
