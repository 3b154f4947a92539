// Where the keyboard goes by itself. Never on a touch screen: a field there brings up the keyboard.
import { type RefObject, useEffect } from "react";
import { isWalking } from "./places";

export const composer = () => document.getElementById("composer") as HTMLTextAreaElement | null;

export function isTouch(): boolean {
  return matchMedia("(pointer: coarse)").matches;
}

/** Back to where one writes. */
export function toComposer(): void {
  if (!isTouch()) composer()?.focus();
}

/** The same a moment later, if nothing has the keyboard then: what had it is gone. */
export function toComposerIfLost(): void {
  requestAnimationFrame(() => document.activeElement === document.body && toComposer());
}

/** A field that is ready to write in as soon as it is there, unless somebody walks by with the keys. */
export function useReady(field: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    if (!isTouch() && !isWalking()) field.current?.focus();
  }, [field]);
}

/**
 * What waits for an answer gets the keys, unless somebody writes; afterwards they go back to the composer.
 * A question's first field is focused; a permission as a whole, so that no key but its own decides.
 */
export function useTurnOf(element: RefObject<HTMLElement | null>, request: string | undefined): void {
  useEffect(() => {
    if (request === undefined || isTouch()) return;
    const { activeElement } = document;
    const isFree = activeElement === document.body || (activeElement === composer() && !composer()?.value);
    if (isFree)
      (element.current?.querySelector<HTMLElement>(".option input, .own") ?? element.current)?.focus();
    return toComposerIfLost;
  }, [element, request]);
}
