// Notifies the page of changes in all conversations.
import { changesOf } from "@turnwire/client/lists";
import { useEffect, useRef } from "react";
import { client } from "./client";

/** Milliseconds. Polls as well: the server reports only its own changes. */
const EVERY = 5_000;
/** Milliseconds in which several changes cause one reload. */
const TOGETHER = 100;

/** Notifies all tabs of a change. */
export const notifyChange = changesOf(client).tell;

/** Calls `look` after a change, when the page becomes visible, and periodically. */
export function useChanges(look: () => void, isOn: boolean): void {
  usePolling(look, isOn);
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    if (!isOn) return;
    let soon: ReturnType<typeof setTimeout> | undefined;
    const stop = changesOf(client).subscribe(() => {
      soon ??= setTimeout(() => {
        soon = undefined;
        latest.current();
      }, TOGETHER);
    });
    return () => {
      stop();
      clearTimeout(soon);
    };
  }, [isOn]);
}

/** Calls `look` periodically while the page is visible. */
export function usePolling(look: () => void, isOn: boolean): void {
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    if (!isOn) return;
    const timer = setInterval(() => document.hidden || latest.current(), EVERY);
    return () => clearInterval(timer);
  }, [isOn]);
}
