// The messages, of which only those that can be seen are in the document.
import type { Conversation, Snapshot } from "@turnwire/client";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { Icon } from "../app/Icon";
import { useWords } from "../app/words";
import { NewestPlan } from "../tools/ToolCard";
import { Pending, pendingOf } from "./Pending";
import { type Edit, type Inspect, OneRow } from "./OneRow";
import { newestPlan, type Row, rowAt, rowsOf } from "./rows";

/** So near to the end, the newest stays in sight. */
const NEAR_END = 60;
/** So near to the beginning, older messages are fetched. */
const NEAR_BEGINNING = 2500;

interface Props {
  conversation: Conversation;
  snapshot: Snapshot;
  /** The number of the entry to show first; absent: the newest. */
  at?: number | undefined;
  inspect: Inspect;
  edit?: Edit | undefined;
}

export function Timeline({ conversation, snapshot, at, inspect, edit }: Props) {
  const words = useWords();
  const { view, unanswered } = snapshot;
  const rows = useMemo(() => rowsOf(view), [view]);
  const pending = pendingOf(unanswered, view.messages);
  const list = useRef<VListHandle>(null);
  const isStuck = useRef(at === undefined);
  const isFound = useRef(at === undefined);
  const [isAway, setAway] = useState(false);
  const first = view.first ?? 1;

  // Older rows come before the others, which then stay where they are.
  const firstKey = useRef<string>(undefined);
  const isOlder = firstKey.current !== undefined && rows[0]?.key !== firstKey.current;
  useLayoutEffect(() => {
    firstKey.current = rows[0]?.key;
  }, [rows]);

  const toEnd = useCallback(() => {
    const handle = list.current;
    if (handle) handle.scrollTo(handle.scrollSize);
  }, []);
  /** The newest stays in sight until somebody scrolls up, however little, and again from the end on. */
  const offset = useRef(0);
  const look = useCallback((now: number, left: number) => {
    if (left <= 2 || (left < NEAR_END && now > offset.current)) isStuck.current = true;
    else if (now < offset.current - 2 || left >= NEAR_END) isStuck.current = false;
    offset.current = now;
    setAway(!isStuck.current && left >= NEAR_END);
  }, []);
  const section = useRef<HTMLElement>(null);
  const sent = useRef(0);
  useLayoutEffect(() => {
    const scroller = section.current?.querySelector(".scroller");
    // Somebody may have scrolled whose event is still to come; or the end moves away from who has.
    if (scroller && isFound.current && (!isStuck.current || scroller.scrollTop < offset.current - 2))
      look(scroller.scrollTop, scroller.scrollHeight - scroller.clientHeight - scroller.scrollTop);
    if (pending.length > sent.current) isStuck.current = true; // who speaks wants to see it
    sent.current = pending.length;
    if (isStuck.current) toEnd();
  }, [rows, pending.length, toEnd, look]);

  const older = useCallback(() => {
    if (first > 1) void conversation.loadOlder().catch(() => {}); // the next scroll tries again
  }, [conversation, first]);

  const scrolled = (to: number) => {
    const handle = list.current;
    if (!handle) return;
    look(to, handle.scrollSize - handle.viewportSize - to);
    if (to < NEAR_BEGINNING) older();
  };

  // What is searched for may be far back: fetch until it is here.
  const soughtAt = useMemo(() => (at === undefined || first > at ? -1 : rowAt(rows, at)), [rows, at, first]);
  useEffect(() => {
    if (at === undefined || isFound.current || !rows.length) return;
    if (first > at) return older();
    let frame = 0;
    const show = () => {
      const handle = list.current;
      if (!handle?.viewportSize) {
        frame = requestAnimationFrame(show); // the list has not been measured yet
        return;
      }
      isFound.current = true;
      isStuck.current = false;
      handle.scrollToIndex(Math.max(soughtAt, 0), { align: "center" });
    };
    show();
    return () => cancelAnimationFrame(frame);
  }, [at, first, rows, soughtAt, older]);

  // A short page has nothing to scroll, but perhaps something older.
  useEffect(() => {
    const handle = list.current;
    if (handle && rows.length && handle.scrollSize <= handle.viewportSize + NEAR_BEGINNING) older();
  }, [rows.length, older]);

  const plan = useMemo(() => newestPlan(rows), [rows]);
  const items = useMemo(
    () => [
      ...rows.map((row) => row as Row | "pending" | "end"),
      ...pending.map(() => "pending" as const),
      "end" as const,
    ],
    [rows, pending.length],
  );
  return (
    <section ref={section} className="timeline" aria-label={words.messages}>
      {first > 1 && (
        <p className="older muted" aria-live="polite">
          {words.loadingOlder}
        </p>
      )}
      <NewestPlan value={plan}>
        <VList
          ref={list}
          className="scroller"
          data={items}
          shift={isOlder}
          bufferSize={400}
          onScroll={scrolled}
          onResize={() => {
            if (isStuck.current) toEnd();
          }}
          role="log"
          aria-live="off"
          tabIndex={0}
          aria-label={words.messages}
        >
          {(item, index) => {
            if (item === "end") return <div key="end" className="end" />;
            if (item === "pending") {
              const each = pending[index - rows.length];
              return <Pending key={each?.id ?? index} content={each?.content} />;
            }
            return (
              <div key={item.key} className={`place${index === soughtAt ? " sought" : ""}`}>
                <OneRow row={item} inspect={inspect} edit={edit} />
              </div>
            );
          }}
        </VList>
      </NewestPlan>
      {isAway && (
        <button
          type="button"
          className="to-end"
          aria-label={words.toNewest}
          title={words.toNewest}
          onClick={() => {
            isStuck.current = true;
            toEnd();
          }}
        >
          <Icon name="down" />
        </button>
      )}
    </section>
  );
}
