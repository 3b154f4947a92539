// Moves the focus automatically. Never on a touch screen, where a focused field opens the keyboard.
import { isTouch } from "@turnwire/react";
import { type RefObject, useEffect } from "react";
import { isKeyboardNavigation } from "./navigation";

export const composer = () => document.getElementById("composer") as HTMLTextAreaElement | null;

export { isTouch };

/** Focuses the composer. */
export function focusComposer(): void {
  if (!isTouch()) composer()?.focus();
}

/**
 * Focuses the composer a moment later, if nothing has the focus: the focused element was removed.
 */
export function focusComposerIfLost(): void {
  requestAnimationFrame(() => document.activeElement === document.body && focusComposer());
}

/** Focuses a field when it appears, unless the person navigates with the keyboard. */
export function useInitialFocus(field: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (!isTouch() && !isKeyboardNavigation()) field.current?.focus();
  }, [field]);
}

/**
 * Focuses a new request, unless the person is typing; afterwards focuses the composer. Of a
 * question it focuses the first field; of a permission the whole element, so that only its own keys
 * decide.
 */
export function useRequestFocus(element: RefObject<HTMLElement | null>, request: string | undefined): void {
  useEffect(() => {
    if (request === undefined || isTouch()) return;
    const { activeElement } = document;
    const isFree = activeElement === document.body || (activeElement === composer() && !composer()?.value);
    if (isFree)
      (element.current?.querySelector<HTMLElement>(".option input, .own") ?? element.current)?.focus();
    return focusComposerIfLost;
  }, [element, request]);
}
