// Which conversations have news that this browser has not shown: an answer that ended, or a request.
import type { ConversationInfo, Status } from "@turnwire/client";
import { useEffect, useRef } from "react";
import { readStored, store, useStored } from "../app/browserStorage";

/** What the browser has shown. All tabs share it. Times are in milliseconds. */
interface Shown {
  /** Conversations without news after this time were there at the first visit, or are forgotten. */
  since: number;
  /** The number of the newest shown entry of the log, and the time of that news; the newest last. */
  seen: Record<string, [number, number] | undefined>;
}

const STORED = "shown";
/** The most conversations that are remembered. */
const MOST = 300;
/** The number of a conversation that a person has marked as unread. */
const MARKED = -1;

let last: { text: string | null; shown: Shown | undefined } | undefined;

/** Returns undefined before the first visit. */
function shownIn(text: string | null): Shown | undefined {
  if (last?.text === text) return last.shown;
  let shown: Shown | undefined;
  try {
    const { since, seen } = JSON.parse(text ?? "");
    if (typeof since === "number") shown = { since, seen: Object(seen) };
  } catch {} // the next list is that of a first visit
  last = { text, shown };
  return shown;
}

export function useShown(): Shown | undefined {
  return shownIn(useStored(STORED)[0]);
}

/** The number of the newest entry that is worth a mark: the end of a turn, or a request. */
function newsOf(status: Status | undefined): number {
  const numbers = status?.requests.map((each) => each.message_sequence ?? 0) ?? [];
  return Math.max(status?.last_turn?.after_sequence ?? 0, ...numbers);
}

const timeOf = (info: ConversationInfo) => Date.parse(info.updated_at);

export function isUnread(shown: Shown | undefined, info: ConversationInfo | undefined): boolean {
  if (!shown || !info) return false;
  const seen = shown.seen[info.id];
  const news = newsOf(info.status);
  if (seen) return news > seen[0];
  return news > 0 && timeOf(info) > shown.since;
}

function change(seen: Shown["seen"]): void {
  const before = shownIn(readStored(STORED));
  if (!before) return;
  const after = { ...before.seen };
  for (const id in seen) delete after[id];
  Object.assign(after, seen); // as the newest
  let { since } = before;
  for (const id of Object.keys(after).slice(0, -MOST)) {
    since = Math.max(since, after[id]?.[1] ?? 0);
    delete after[id];
  }
  store(STORED, JSON.stringify({ since, seen: after }));
}

export function markRead(all: readonly ConversationInfo[]): void {
  const oldestFirst = [...all].sort((one, other) => timeOf(one) - timeOf(other)); // the oldest are forgotten first
  change(Object.fromEntries(oldestFirst.map((each) => [each.id, [newsOf(each.status), timeOf(each)]])));
}

export function markUnread(info: ConversationInfo): void {
  change({ [info.id]: [MARKED, timeOf(info)] });
}

/** Forgets a conversation that is deleted. */
export function forgetShown(id: string): void {
  change({ [id]: undefined });
}

/** At the first visit all conversations of the list are read. */
export function useFirstVisit(all: readonly ConversationInfo[], isLoaded: boolean): void {
  useEffect(() => {
    if (!isLoaded || shownIn(readStored(STORED))) return;
    const since = Math.max(0, ...all.map(timeOf));
    store(STORED, JSON.stringify({ since, seen: {} } satisfies Shown));
  }, [isLoaded]); // only once: signing out deletes it
}

/**
 * Marks the shown conversation as read, when a visible tab opens it and at each news. One that a person marks
 * as unread meanwhile stays so until it is opened again. `status` is that of the open conversation, which is
 * newer than the list's.
 */
export function useReading(id: string, status: Status | undefined, info: ConversationInfo | undefined): void {
  const isReady = useShown() !== undefined && info !== undefined;
  const news = Math.max(newsOf(status), newsOf(info?.status));
  const at = info ? timeOf(info) : 0;
  const isOpen = useRef(false);
  useEffect(() => {
    const look = () => {
      const isOpening = !isOpen.current;
      isOpen.current = isReady && !document.hidden;
      if (!isOpen.current) return;
      const seen = shownIn(readStored(STORED))?.seen[id]?.[0];
      if (seen === undefined || (news > seen && (seen !== MARKED || isOpening))) change({ [id]: [news, at] });
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [id, isReady, news, at]);
}
