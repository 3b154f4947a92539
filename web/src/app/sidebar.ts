// The list of conversations: on a phone it covers the page, elsewhere a person can hide it.
import { type RefObject, useEffect, useSyncExternalStore } from "react";
import { readStored, store, useStored } from "./browserStorage";

const listeners = new Set<() => void>();
let isOpen = false;

function set(to: boolean): void {
  if (isOpen === to) return;
  isOpen = to;
  for (const listener of [...listeners]) listener();
}

const HIDDEN = "list-hidden";
const isNarrow = () => matchMedia("(max-width: 46rem)").matches;

/** Shows the list. Its first button has the focus then, because that of the header is gone. */
export function openSidebar(): void {
  if (isNarrow()) return set(true);
  showSidebar();
  focusLater(".sidebar .hide-list");
}

/** Shows the list beside the page. */
export const showSidebar = () => store(HIDDEN, null);

/** Closes the list that covers the page. */
export const closeSidebar = () => set(false);

/** Hides the list beside the page, until it is opened again. */
export function hideSidebar(): void {
  store(HIDDEN, "yes");
  focusLater(".open-list");
}

export function toggleSidebar(): void {
  const isShown = isNarrow() ? isOpen : readStored(HIDDEN) === null;
  if (!isShown) openSidebar();
  else if (isNarrow()) closeSidebar();
  else hideSidebar();
}

/** Whether the list beside the page is hidden. */
export function useHiddenSidebar(): boolean {
  return useStored(HIDDEN)[0] !== null;
}

function focusLater(selector: string): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus());
}

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
