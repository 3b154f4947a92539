// Notifies the page of changes in all conversations, from the server's event stream. One tab
// listens for all tabs of a browser, because a browser has few connections to one server.
import { pageHeaders } from "@turnwire/client";
import { useEffect, useRef } from "react";

/** Milliseconds. Polls as well: the server reports only its own changes, and a stream may break. */
const EVERY = 5_000;
/** Milliseconds in which several changes cause one reload. */
const TOGETHER = 100;
const listeners = new Set<() => void>();
const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("turnwire:changes") : undefined;
channel?.addEventListener("message", tellHere);

function tellHere(): void {
  for (const listener of [...listeners]) listener();
}

/** Notifies all tabs of a change. */
export function notifyChange(): void {
  tellHere();
  channel?.postMessage("changed");
}

/** Milliseconds before a retry: the first and the maximum. */
const AGAIN = { first: 1_000, most: 30_000 };
let isAsked = false;

/** The tab that has the lock listens, and notifies the others, until it is closed. */
function listen(): void {
  if (isAsked) return;
  isAsked = true;
  // A page without TLS has no locks: then each tab listens for itself.
  if ("locks" in navigator) void navigator.locks.request(`turnwire:changes:${document.baseURI}`, open);
  else void open();
}

/**
 * Reads the stream of changes, and restarts it when it ends. An EventSource cannot send the page
 * key.
 */
async function open(): Promise<never> {
  let pause = AGAIN.first;
  for (;;) {
    try {
      const address = `${document.baseURI}api/changes`;
      const answer = await fetch(address, { headers: pageHeaders(document.baseURI), cache: "no-store" });
      if (answer.ok && answer.body) {
        pause = AGAIN.first;
        notifyChange(); // for changes that were missed meanwhile
        await readEvents(answer.body);
      }
    } catch {
      // The connection is broken.
    }
    notifyChange(); // the reload shows why: the server is down, or the user is signed out
    do await new Promise((later) => setTimeout(later, pause));
    while (!listeners.size);
    pause = Math.min(pause * 2, AGAIN.most);
  }
}

/** Reads server-sent events. Only their arrival matters; comments are heartbeats. */
async function readEvents(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    if (lines.some((line) => line.startsWith("data:"))) notifyChange();
  }
}

/** Calls `look` after a change, when the page becomes visible, and periodically. */
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
