// The messages, as a virtual list: only visible rows are in the document.
import type { Conversation, MessageView, Snapshot } from "@turnwire/client";
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { VList, type VListHandle } from "virtua";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useKeys } from "../app/shortcuts";
import { SoughtText } from "../markdown/soughtText";
import { BackgroundCalls, NewestPlan, TaskEnds } from "../tools/ToolCard";
import { BrokenRow } from "./BrokenRow";
import { MessageRail } from "./extras";
import type { FoundText } from "./findText";
import { LoadingRows } from "./LoadingRows";
import type { MessageActions } from "./MessageActions";
import { OneRow } from "./OneRow";
import { useIsPrinting } from "./printing";
import {
  newestPlan,
  type Row,
  type RowPosition,
  rowNear,
  rowOf,
  rowsOf,
  SLACK,
  type TaskEnd,
  taskEndsOf,
} from "./rows";
import { SearchHit, useSearchedEntry } from "./searchHit";
import { useStickToEnd } from "./stickToEnd";
import { isThinking } from "./thinking";
import { textOf, UnconfirmedMessage, unconfirmedIn } from "./UnconfirmedMessages";

/** Pixels from the top at which older messages are loaded. */
const NEAR_BEGINNING = 2500;
/**
 * Pixels beyond the visible area in which rows are rendered, for short scrolling and for search in
 * the page.
 */
const BEYOND = 1200;
/** Milliseconds until older messages are asked for again. */
const RETRY = 1000;
/** Pixels above the entry of a link. */
const ABOVE = 64;
/** Milliseconds until the list has measured its rows. */
const SETTLED = 250;
/** How often a hit is looked for, which may still be loading or folded. */
const TRIES = 20;

interface Props {
  id: string;
  /** Loads older messages. */
  loadOlder: Conversation["loadOlder"];
  snapshot: Pick<Snapshot, "view" | "unanswered" | "connection">;
  /** The number of the entry to show first; absent: the newest. */
  at?: number | undefined;
  /** Whether it shows the beginning first. Nothing older may be missing then. */
  startsAtBeginning?: boolean;
  /** Counts the messages sent from this page: each scrolls to the end. */
  spoken?: number;
  actions?: MessageActions | undefined;
  /** The current hit of the search in this conversation. */
  found?: FoundText | undefined;
}

export function Timeline(props: Props) {
  const { id, loadOlder, snapshot, at, startsAtBeginning = false, spoken = 0, actions, found } = props;
  const words = useWords();
  const { view, unanswered, connection } = snapshot;
  const first = view.first ?? 1;
  const rows = useMemo(() => rowsOf(view, first === 1), [view, first]);
  const pending = unconfirmedIn(unanswered, view.messages);
  const list = useRef<VListHandle>(null);
  const isFound = useRef(at === undefined);

  // Older rows are added before the others, which keep their position.
  const firstKey = useRef<string>(undefined);
  const isOlder = firstKey.current !== undefined && rows[0]?.key !== firstKey.current;
  useLayoutEffect(() => {
    firstKey.current = rows[0]?.key;
  }, [rows]);

  const section = useRef<HTMLElement>(null);
  const { isAway, isStuck, updatePosition, stick, stayHere } = useStickToEnd(
    section,
    at === undefined && !startsAtBeginning,
  );
  const heard = useRef(spoken);
  useLayoutEffect(() => {
    if (isFound.current) updatePosition();
    if (spoken !== heard.current || isStuck.current) stick();
    heard.current = spoken;
  }, [rows, pending.length, spoken, isStuck, updatePosition, stick]);

  const tryAgain = useRef<() => void>(undefined);
  const older = useCallback(() => {
    if (first === 1) return;
    void loadOlder().catch(() => {}); // asked again below
  }, [loadOlder, first]);
  useEffect(() => {
    tryAgain.current = () => {
      if (list.current && list.current.scrollOffset < NEAR_BEGINNING) older();
    };
    return () => {
      tryAgain.current = undefined;
    };
  }, [older]);
  // A person may have reached the beginning again while older messages were loading, or loading them
  // may have failed. At the very beginning there is no next scroll that would ask for them.
  useEffect(() => {
    if (first === 1) return;
    const soon = setTimeout(() => tryAgain.current?.(), SETTLED);
    const later = setInterval(() => tryAgain.current?.(), RETRY);
    return () => {
      clearTimeout(soon);
      clearInterval(later);
    };
  }, [first]);

  const scrolled = (to: number) => {
    updatePosition();
    if (to < NEAR_BEGINNING) older();
  };

  // The entry of a search may not be loaded yet: wait for it.
  const entry = useSearchedEntry(id, at);
  const [sought, setSought] = useState<RowPosition>();
  const isHere = connection === "connected" || (view.cursor ?? 0) >= (at ?? 0);
  useEffect(() => {
    if (!entry || sought || !rows.length || !isHere) return;
    // One page more than needed: there is room above the entry then.
    if (first > 1 && first >= entry.number) return older();
    const found = rowOf(rows, entry);
    // The result of a tool may be loaded without its call.
    if (!found && first > 1 && entry.ids.some((each) => each)) return older();
    setSought(found ?? rowNear(rows, entry));
  }, [entry, sought, isHere, first, rows, older]);
  useEffect(() => {
    if (!sought || isFound.current) return;
    let frame = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      const handle = list.current;
      if (!handle?.viewportSize) {
        frame = requestAnimationFrame(show); // the list is not measured yet
        return;
      }
      isFound.current = true;
      stayHere();
      const index = rows.findIndex((row) => row.key === sought.row);
      handle.scrollToIndex(Math.max(index, 0), { align: "start", offset: -ABOVE });
      // Scrolls inside of a sub-agent's card, which may be long.
      const inner = () => section.current?.querySelector(".sought-inner");
      if (sought.inner !== sought.row)
        timer = setTimeout(() => inner()?.scrollIntoView({ block: "center" }), SETTLED);
    };
    show();
    return () => {
      cancelAnimationFrame(frame);
      if (!isFound.current) clearTimeout(timer);
    };
  }, [sought, rows, stayHere]);

  // A hit of the search in this conversation: its text, if its row is in the document, or first its row.
  const latest = useRef(rows);
  latest.current = rows;
  const position = found?.hit.position;
  const soughtText = found?.text.trim().toLowerCase() ?? "";
  useEffect(() => {
    const handle = list.current;
    if (!found || !handle) return;
    const { hit, reveal } = found;
    if (hit.position) {
      const { row } = hit.position;
      const index = latest.current.findIndex((each) => each.key === row);
      if (index < 0) return;
      stayHere();
      if (!reveal()) handle.scrollToIndex(index, { align: "center" });
    }
    // Again when its row is measured, and what was folded is open.
    let tries = 0;
    const timer = setInterval(() => {
      tries += 1;
      if ((reveal() && tries > 1) || tries >= TRIES) clearInterval(timer);
    }, SETTLED);
    return () => clearInterval(timer);
  }, [found, stayHere]);

  // A short page cannot scroll, but may have older messages.
  useEffect(() => {
    const handle = list.current;
    if (handle && rows.length && handle.scrollSize <= handle.viewportSize + NEAR_BEGINNING) older();
  }, [rows.length, older]);

  const plan = useMemo(() => newestPlan(rows), [rows]);
  const tasks = view.status?.background_tasks;
  const behind = useMemo(() => new Set(tasks?.flatMap((task) => task.tool_use_id ?? [])), [tasks]);
  const ends = useTaskEnds(view.messages);
  const items = useMemo(
    () => [
      ...rows.map((row) => row as Row | "pending" | "end"),
      ...pending.map(() => "pending" as const),
      "end" as const,
    ],
    [rows, pending.length],
  );
  const jump = (index: number) => {
    stayHere();
    list.current?.scrollToIndex(index, { align: "start" });
  };
  // Goes through the messages of the person.
  const walk = (by: -1 | 1) => {
    const handle = list.current;
    if (!handle) return;
    const at = handle.findItemIndex(handle.scrollOffset + SLACK);
    const own = rows.flatMap((row, index) => (row.kind === "said" ? [index] : []));
    const next = by < 0 ? own.findLast((each) => each < at) : own.find((each) => each > at);
    if (next === undefined) return by < 0 ? older() : stick();
    jump(next);
  };
  useKeys({ earlier: () => walk(-1), later: () => walk(1) });
  const isPrinting = useIsPrinting();
  const thinks = isThinking(view) && connection === "connected";
  return (
    <section ref={section} className="timeline" aria-label={words.messages}>
      {first > 1 && (
        <p className="older muted" aria-live="polite">
          {words.loadingOlder}
        </p>
      )}
      {!rows.length && !pending.length && connection !== "connected" && <LoadingRows />}
      <Around plan={plan} behind={behind} ends={ends} sought={position ?? sought}>
        <VList
          ref={list}
          className="scroller"
          data={items}
          {...(isPrinting ? { keepMounted: [...items.keys()] } : {})}
          shift={isOlder}
          bufferSize={BEYOND}
          onScroll={scrolled}
          role="log"
          aria-live="off"
          tabIndex={0}
          aria-label={words.messages}
        >
          {(item, index) => {
            if (item === "end")
              return (
                <div key="end" className="end">
                  {thinks && <Dots />}
                </div>
              );
            if (item === "pending") {
              const each = pending[index - rows.length];
              return (
                <ErrorBoundary
                  key={each?.id ?? index}
                  instead={() => <BrokenRow row={textOf(each?.content)} />}
                >
                  <UnconfirmedMessage content={each?.content} />
                </ErrorBoundary>
              );
            }
            return (
              <div
                key={item.key}
                className={`place${item.key === (position ?? sought)?.row ? " sought" : ""}`}
              >
                <ErrorBoundary of={item} instead={() => <BrokenRow row={item} />}>
                  <SoughtText value={item.key === (position ?? sought)?.row ? soughtText : ""}>
                    <OneRow row={item} actions={actions} />
                  </SoughtText>
                </ErrorBoundary>
              </div>
            );
          }}
        </VList>
      </Around>
      {isAway && (
        <button
          type="button"
          className="to-end"
          aria-label={words.toNewest}
          title={words.toNewest}
          onClick={stick}
        >
          <Icon name="down" />
        </button>
      )}
      <MessageRail
        rows={rows}
        list={list}
        section={section}
        hasOlder={first > 1}
        loadOlder={loadOlder}
        requests={view.status?.requests}
        hit={position?.row}
        jump={jump}
      />
    </section>
  );
}

/** Shows that the agent works while nothing grows. Screen readers hear it from the announcer, once. */
function Dots() {
  return (
    <p className="working" aria-hidden="true">
      <i />
      <i />
      <i />
    </p>
  );
}

interface AroundProps {
  plan: string | undefined;
  behind: ReadonlySet<string>;
  ends: ReadonlyMap<string, TaskEnd>;
  sought: RowPosition | undefined;
  children: ReactNode;
}

/** Returns the ends of tasks; the same object until another task ends, so that no card is rendered in vain. */
function useTaskEnds(messages: readonly MessageView[]): ReadonlyMap<string, TaskEnd> {
  const before = useRef<ReadonlyMap<string, TaskEnd>>(new Map());
  return useMemo(() => {
    const now = taskEndsOf(messages);
    const isSame =
      now.size === before.current.size && [...now.keys()].every((key) => before.current.has(key));
    if (!isSame) before.current = now;
    return before.current;
  }, [messages]);
}

/** Context of the rows. */
function Around({ plan, behind, ends, sought, children }: AroundProps) {
  return (
    <NewestPlan value={plan}>
      <BackgroundCalls value={behind}>
        <TaskEnds value={ends}>
          <SearchHit value={sought}>{children}</SearchHit>
        </TaskEnds>
      </BackgroundCalls>
    </NewestPlan>
  );
}
