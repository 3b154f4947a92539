// The rail at the edge of a conversation, with a mark for each message of the person; and the list
// that it opens, also as a dialog.
import type { OpenRequest } from "@turnwire/client";
import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type RefObject,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { VList, type VListHandle } from "virtua";
import { useAction } from "../app/actions";
import { Dialog } from "../app/Dialog";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";
import {
  FEWEST,
  isSame,
  itemBefore,
  type Mark,
  marksOf,
  type RailItem,
  railItems,
  railText,
} from "./railItems";
import { type Row, SLACK } from "./rows";

/** Milliseconds that a pointer stays before the list opens, and that it may be away before the list closes. */
const OPENS_AFTER = 120;
const CLOSES_AFTER = 250;
/** The height of an entry in rem, as in the style sheet, and the most entries in sight. */
const ENTRY = 2.25;
const IN_SIGHT = 10;
/** The height of what is above the entries. */
const HEADING = 2.5;
const heightOf = (entries: number) => Math.min(entries, IN_SIGHT) * ENTRY;
/** The entries that PageUp and PageDown pass. */
const PAGE = IN_SIGHT - 1;
/** The key of the entry that loads older messages. */
const OLDER = "older" as const;

interface Props {
  rows: readonly Row[];
  list: RefObject<VListHandle | null>;
  section: RefObject<HTMLElement | null>;
  /** Whether older messages are not loaded yet. */
  hasOlder: boolean;
  loadOlder: () => Promise<unknown>;
  requests: readonly OpenRequest[] | undefined;
  /** The key of the row with the hit of the search. */
  hit: string | undefined;
  /** Scrolls to the row of this position. */
  jump: (index: number) => void;
}

const NONE: readonly OpenRequest[] = [];

export function MessageRail({ rows, list, section, hasOlder, loadOlder, requests = NONE, hit, jump }: Props) {
  const words = useWords();
  const items = useItems(rows, requests, hit);
  const { place, choose } = usePlace(items, list, section, hit, jump);
  const [isDialog, setDialog] = useState(false);
  const [isLoading, setLoading] = useState(false);
  const isOn = useMemo(() => items.filter(({ row }) => row.kind === "said").length >= FEWEST, [items]);
  useAction({ name: "messages", label: words.rail.title, icon: "list", run: () => setDialog(true) }, isOn);
  const older = async () => {
    if (isLoading) return;
    setLoading(true);
    await loadOlder().catch(() => {}); // the entry stays, to be tried again
    setLoading(false);
  };
  const goTo = (item: RailItem) => {
    choose(item);
    jump(item.index);
  };
  if (!isOn) return null;
  const shared = { items, place, goTo, older: hasOlder ? older : undefined, isLoading };
  return (
    <>
      <Rail
        {...shared}
        toMessages={() => section.current?.querySelector<HTMLElement>(".scroller")?.focus()}
      />
      {isDialog && (
        <Dialog label={words.rail.title} className="rail-dialog" close={() => setDialog(false)}>
          {(leave) => (
            <InDialog
              {...shared}
              goTo={(item) => {
                leave();
                goTo(item);
              }}
            />
          )}
        </Dialog>
      )}
    </>
  );
}

/** Returns the same items until one of them changes: an answer that grows changes none. */
function useItems(
  rows: readonly Row[],
  requests: readonly OpenRequest[],
  hit: string | undefined,
): RailItem[] {
  const before = useRef<RailItem[]>([]);
  return useMemo(() => {
    const now = railItems(rows, requests, hit);
    if (!isSame(before.current, now)) before.current = now;
    return before.current;
  }, [rows, requests, hit]);
}

/** Returns the position of the item that is read now. It is looked up once in a frame, whatever scrolls. */
function usePlace(
  items: RailItem[],
  list: RefObject<VListHandle | null>,
  section: RefObject<HTMLElement | null>,
  hit: string | undefined,
  jump: (index: number) => void,
) {
  const [place, setPlace] = useState(0);
  /** The item that was chosen: it counts until a person scrolls, also if it cannot come to the top. */
  const chosen = useRef<{ key: string; row?: number }>(undefined);
  useEffect(() => {
    if (hit !== undefined) chosen.current = { key: hit };
  }, [hit]);
  // Older messages that were loaded meanwhile have moved its row, also for a jump that is not done.
  const again = useRef(jump);
  again.current = jump;
  useEffect(() => {
    const { key, row } = chosen.current ?? {};
    const now = row === undefined ? undefined : items.find((each) => each.key === key);
    if (!now || now.index === row) return;
    chosen.current = { key: now.key, row: now.index };
    again.current(now.index);
  }, [items]);
  useEffect(() => {
    const scroller = section.current?.querySelector(".scroller");
    if (!scroller) return;
    const known =
      chosen.current === undefined ? -1 : items.findIndex(({ key }) => key === chosen.current?.key);
    let frame = 0;
    const look = () => {
      frame = 0;
      if (list.current)
        setPlace(chosen.current === undefined || known < 0 ? placeIn(items, list.current) : known);
    };
    const later = () => {
      frame ||= requestAnimationFrame(look);
    };
    const forget = () => {
      chosen.current = undefined;
    };
    later();
    const options = { passive: true, capture: true };
    const moves = ["wheel", "touchmove", "pointerdown"] as const;
    scroller.addEventListener("scroll", later, options);
    for (const each of moves) scroller.addEventListener(each, forget, options);
    addEventListener("keydown", forget, options);
    return () => {
      cancelAnimationFrame(frame);
      scroller.removeEventListener("scroll", later, options);
      for (const each of moves) scroller.removeEventListener(each, forget, options);
      removeEventListener("keydown", forget, options);
    };
  }, [items, list, section]);
  const choose = (item: RailItem) => {
    chosen.current = { key: item.key, row: item.index };
    setPlace(items.indexOf(item));
  };
  return { place: Math.min(place, items.length - 1), choose };
}

/** Returns the item at the line where one reads: at the top, and towards the end of the conversation further down. */
function placeIn(items: readonly RailItem[], list: VListHandle): number {
  const { scrollOffset, viewportSize, scrollSize } = list;
  const left = Math.max(0, scrollSize - scrollOffset - viewportSize);
  const down = Math.max(0, 1 - left / (viewportSize || 1)) * viewportSize;
  return itemBefore(items, list.findItemIndex(scrollOffset + Math.max(SLACK, down - SLACK)));
}

interface ListProps {
  items: readonly RailItem[];
  /** The position of the item that is read now. */
  place: number;
  goTo: (item: RailItem) => void;
  /** Loads older messages; absent: all are loaded. */
  older: (() => Promise<void>) | undefined;
  isLoading: boolean;
}

interface RailProps extends ListProps {
  /** Moves the focus to the messages. */
  toMessages: () => void;
}

function Rail({ toMessages, ...props }: RailProps) {
  const { items, place, goTo } = props;
  const words = useWords();
  const id = useId();
  const root = useRef<HTMLDivElement>(null);
  const face = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const pointer = useRef("");
  const chooser = useChooser(props);
  const marks = useMemo(() => marksOf(items), [items]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const open = () => {
    clearTimeout(timer.current);
    chooser.activate(undefined);
    setOpen(true);
  };
  const close = () => {
    clearTimeout(timer.current);
    setOpen(false);
  };
  useEffect(() => {
    if (!isOpen) return;
    // Before the page hears it, which would stop the turn.
    const leave = (event: globalThis.KeyboardEvent) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    };
    const away = (event: Event) => !root.current?.contains(event.target as Node) && setOpen(false);
    addEventListener("keydown", leave, true);
    addEventListener("pointerdown", away, true);
    return () => {
      removeEventListener("keydown", leave, true);
      removeEventListener("pointerdown", away, true);
    };
  }, [isOpen]);

  /** Returns the item of the mark at this height of the window. */
  const itemAt = (y: number): RailItem | undefined => {
    const area = face.current?.firstElementChild?.getBoundingClientRect();
    if (!area?.height) return undefined;
    const mark = Math.floor(((y - area.top) / area.height) * marks.length);
    return items[marks[Math.min(Math.max(mark, 0), marks.length - 1)]?.at ?? 0];
  };
  const entered = ({ pointerType }: PointerEvent) => {
    if (pointerType !== "mouse") return;
    clearTimeout(timer.current);
    if (!isOpen) timer.current = setTimeout(open, OPENS_AFTER);
  };
  const left = ({ pointerType }: PointerEvent) => {
    if (pointerType !== "mouse") return;
    clearTimeout(timer.current);
    if (isOpen && face.current !== document.activeElement) timer.current = setTimeout(close, CLOSES_AFTER);
  };
  const pressed = (event: KeyboardEvent) => {
    if (!isOpen && ["Enter", " ", "ArrowDown", "ArrowUp"].includes(event.key)) {
      event.preventDefault();
      return open();
    }
    const chosen = chooser.pressed(event);
    if (!chosen) return;
    close();
    toMessages();
  };
  return (
    <div ref={root} className="rail" onPointerEnter={entered} onPointerLeave={left}>
      <div
        ref={face}
        className="rail-marks"
        role="combobox"
        tabIndex={0}
        aria-label={words.rail.title}
        aria-haspopup="listbox"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-activedescendant={isOpen ? chooser.optionId(id) : undefined}
        onFocus={(event) => event.target.matches(":focus-visible") && open()}
        onBlur={close}
        onKeyDown={pressed}
        onMouseDown={(event) => event.preventDefault()} // the focus stays where it is
        onPointerDown={({ pointerType }) => {
          pointer.current = pointerType;
        }}
        onPointerMove={({ pointerType, clientY }) => {
          const item = pointerType === "mouse" && isOpen ? itemAt(clientY) : undefined;
          if (item) chooser.activate(item.key);
        }}
        onClick={({ detail, clientY }) => {
          if (detail === 0) return open(); // an assistive program
          if (pointer.current !== "mouse") return isOpen ? close() : open();
          const item = itemAt(clientY);
          if (item) goTo(item);
        }}
      >
        <Marks marks={marks} place={place} />
      </div>
      {isOpen && (
        <div
          className="rail-list"
          style={{
            top: `max(0px, 50% - ${(heightOf(items.length + (props.older ? 1 : 0)) + HEADING) / 2}rem)`,
          }}
          onMouseDown={(event) => event.preventDefault()}
        >
          <p aria-hidden="true">{words.rail.title}</p>
          <Entries
            {...props}
            id={id}
            chooser={chooser}
            goTo={(item) => {
              goTo(item);
              if (pointer.current === "touch") close();
            }}
          />
        </div>
      )}
    </div>
  );
}

/** What is drawn of the rail: the list says the same to a screen reader. */
const Marks = memo(function Marks({ marks, place }: { marks: readonly Mark[]; place: number }) {
  return (
    <div aria-hidden="true">
      {marks.map(({ kind, from, to }) => (
        <i key={from} data-kind={kind} className={place >= from && place < to ? "here" : ""} />
      ))}
    </div>
  );
});

function InDialog(props: ListProps) {
  const id = useId();
  const chooser = useChooser(props);
  // The first thing in a dialog is its button to close it.
  useEffect(() => {
    const frame = requestAnimationFrame(() => document.getElementById(id)?.focus());
    return () => cancelAnimationFrame(frame);
  }, [id]);
  return <Entries {...props} id={id} chooser={chooser} isAlone />;
}

/** Knows which entry the keys have reached. */
function useChooser({ items, place, goTo, older }: ListProps) {
  const keys = useMemo(
    () => [...(older ? [OLDER] : []), ...items.map(({ key }) => key)],
    [items, older === undefined],
  );
  /** Undefined: the entry of the place. */
  const [active, activate] = useState<string>();
  const found = keys.indexOf(active ?? items[place]?.key ?? "");
  const at = Math.max(found, 0); // all older messages are loaded
  const step = (to: number) => activate(keys[Math.min(Math.max(to, 0), keys.length - 1)]);
  /** Handles a key. Returns whether it has chosen a message. */
  const pressed = (event: KeyboardEvent): boolean => {
    const to = {
      ArrowUp: at - 1,
      ArrowDown: at + 1,
      PageUp: at - PAGE,
      PageDown: at + PAGE,
      Home: 0,
      End: keys.length - 1,
    }[event.key];
    if (to === undefined && event.key !== "Enter" && event.key !== " ") return false;
    event.preventDefault();
    if (to !== undefined) {
      step(to);
      return false;
    }
    const item = items[at - (older ? 1 : 0)];
    if (item) goTo(item);
    else void older?.();
    return item !== undefined;
  };
  return { at, activate, pressed, optionId: (id: string) => `${id}-${keys[at]}` };
}

interface EntriesProps extends ListProps {
  id: string;
  chooser: ReturnType<typeof useChooser>;
  /** Whether the list itself has the focus. */
  isAlone?: boolean;
}

/** The list of all messages, of which only those in sight are in the document. */
function Entries({ items, place, goTo, older, isLoading, id, chooser, isAlone = false }: EntriesProps) {
  const words = useWords();
  const list = useRef<VListHandle>(null);
  const { at, pressed, optionId } = chooser;
  const entries = useMemo(() => [...(older ? [OLDER] : []), ...items], [items, older === undefined]);
  const isShown = useRef(false);
  useLayoutEffect(() => {
    list.current?.scrollToIndex(at, { align: isShown.current ? "nearest" : "center" });
    isShown.current = true;
  }, [at, entries]);
  return (
    <VList
      ref={list}
      id={id}
      data={entries}
      keepMounted={[at]}
      style={{ height: `${heightOf(entries.length)}rem` }}
      role="listbox"
      aria-label={words.rail.title}
      {...(isAlone
        ? {
            tabIndex: 0,
            onKeyDown: (event: KeyboardEvent) => void pressed(event),
            "aria-activedescendant": optionId(id),
          }
        : { tabIndex: -1 })}
    >
      {(entry, index) => {
        const isOlder = entry === OLDER;
        const kind = isOlder ? OLDER : entry.kind;
        return (
          <div
            key={isOlder ? OLDER : entry.key}
            id={`${id}-${isOlder ? OLDER : entry.key}`}
            data-kind={kind}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            aria-current={!isOlder && entry === items[place] ? "true" : undefined}
            aria-posinset={index + 1}
            aria-setsize={entries.length}
            onClick={() => (isOlder ? void older?.() : goTo(entry))}
          >
            <Icon name={ICONS[kind]} />
            <span>
              {isOlder ? (
                isLoading ? (
                  words.loadingOlder
                ) : (
                  words.rail.older
                )
              ) : (
                <>
                  {entry.kind === "failed" && <span className="hidden">{words.state.error}: </span>}
                  <VisibleText text={railText(entry, words)} />
                </>
              )}
            </span>
          </div>
        );
      }}
    </VList>
  );
}

const ICONS = { said: "person", failed: "warning", asks: "bell", hit: "search", older: "up" } as const;
