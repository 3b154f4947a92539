// When to look again at lists that no open conversation tells of: when the server says so. One tab
// listens for all tabs of a browser, because a browser has few connections to one server.
import { useEffect, useRef } from "react";

/** The server tells only of what it does itself, and a line may break: look now and then all the same. */
const EVERY = 5_000;
/** Many changes, one look. */
const TOGETHER = 100;
const listeners = new Set<() => void>();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("turnwire:changes") : undefined;
channel?.addEventListener("message", tellHere);

function tellHere(): void {
  for (const listener of [...listeners]) listener();
}

/** Something has changed: all tabs look again. */
export function tellChange(): void {
  tellHere();
  channel?.postMessage("changed");
}

/** Milliseconds until it is tried again, the first time and at most. */
const AGAIN = { first: 1_000, most: 30_000 };
let isAsked = false;

/** Whichever tab has the lock listens, and tells the others, until it is closed. */
function listen(): void {
  if (isAsked) return;
  isAsked = true;
  const follow = () => {
    open(AGAIN.first);
    return new Promise<never>(() => {});
  };
  // Where a page came without TLS there are no locks: then each tab listens for itself.
  if ("locks" in navigator) void navigator.locks.request(`turnwire:changes:${document.baseURI}`, follow);
  else void follow();
}

/** A browser comes back by itself where the line breaks, but not where something else than the stream was answered. */
function open(pause: number): void {
  const later = () =>
    setTimeout(() => (listeners.size ? open(Math.min(pause * 2, AGAIN.most)) : later()), pause);
  const source = new EventSource(`${document.baseURI}api/changes`);
  source.onopen = () => {
    pause = AGAIN.first;
    tellChange(); // what was not told meanwhile
  };
  source.onmessage = tellChange;
  source.onerror = () => {
    if (source.readyState !== EventSource.CLOSED) return;
    tellChange(); // whoever looks sees why: the server is not there, or does not know who is here
    later();
  };
}

/** Calls `look` when something has changed, when the page is seen again, and now and then. */
export function useChanges(look: () => void, isOn: boolean): void {
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    if (!isOn) return;
    listen();
    let soon: ReturnType<typeof setTimeout> | undefined;
    const run = () => {
      soon ??= setTimeout(() => {
        soon = undefined;
        latest.current();
      }, TOGETHER);
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
