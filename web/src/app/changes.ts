// When to look again at lists that no open conversation tells of.
import { useEffect, useRef } from "react";

const EVERY = 5_000;
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("turnwire") : undefined;
const listeners = new Set<() => void>();
channel?.addEventListener("message", () => tellHere());

function tellHere(): void {
  for (const listener of [...listeners]) listener();
}

/** Something has changed: all tabs look again. */
export function tellChange(): void {
  tellHere();
  channel?.postMessage("changed");
}

/** Calls `look` when something has changed, when the page is seen again, and now and then. */
export function useChanges(look: () => void, isOn: boolean): void {
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    if (!isOn) return;
    let soon: ReturnType<typeof setTimeout> | undefined;
    const run = () => {
      clearTimeout(soon);
      soon = setTimeout(() => latest.current(), 50); // several changes, one look
    };
    const seen = () => document.visibilityState === "visible" && run();
    listeners.add(run);
    document.addEventListener("visibilitychange", seen);
    addEventListener("online", run);
    const timer = setInterval(seen, EVERY);
    return () => {
      listeners.delete(run);
      document.removeEventListener("visibilitychange", seen);
      removeEventListener("online", run);
      clearInterval(timer);
      clearTimeout(soon);
    };
  }, [isOn]);
}
