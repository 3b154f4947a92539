// When to look again at lists that no open conversation tells of: when the server says so. One tab
// listens for all tabs of a browser, because a browser has few connections to one server.
import { pageHeaders } from "@turnwire/client";
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
  // Where a page came without TLS there are no locks: then each tab listens for itself.
  if ("locks" in navigator) void navigator.locks.request(`turnwire:changes:${document.baseURI}`, open);
  else void open();
}

/**
 * Reads the stream of changes, and begins again when it ends. Not an EventSource: that sends no page key.
 */
async function open(): Promise<never> {
  let pause = AGAIN.first;
  for (;;) {
    try {
      const address = `${document.baseURI}api/changes`;
      const answer = await fetch(address, { headers: pageHeaders(document.baseURI), cache: "no-store" });
      if (answer.ok && answer.body) {
        pause = AGAIN.first;
        tellChange(); // what was not told meanwhile
        await readEvents(answer.body);
      }
    } catch {
      // The line is broken.
    }
    tellChange(); // whoever looks sees why: the server is not there, or does not know who is here
    do await new Promise((later) => setTimeout(later, pause));
    while (!listeners.size);
    pause = Math.min(pause * 2, AGAIN.most);
  }
}

/** Server-sent events, of which only that there is one matters. Others are signs of life. */
async function readEvents(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (lines.some((line) => line.startsWith("data:"))) tellChange();
  }
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
