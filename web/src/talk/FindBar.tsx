// The bar that finds text in this conversation: in the loaded rows, and in older entries by the
// server's search.
import type { View } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import {
  type KeyboardEvent,
  useCallback,
  useDeferredValue,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useNameOf } from "../app/me";
import { hitsIn, type TextHit } from "./findText";
import { rowsOf } from "./rows";
import { markText, rangeOf, reveal, type TextMarks } from "./textMarks";

/** Milliseconds after the last key before the server is asked. */
const PAUSE = 300;
/** The most hits that the server is asked for: its own maximum. */
const MOST = 500;

interface Props {
  id: string;
  view: View;
  /** Shows a hit. */
  show: (hit: TextHit | undefined, text: string, reveal: () => boolean) => void;
  close: () => void;
}

export default function FindBar({ id, view, show, close }: Props) {
  const words = useWords();
  const nameOf = useNameOf();
  const [text, setText] = useState("");
  const [current, setCurrent] = useState<TextHit>();
  const bar = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const sought = useDeferredValue(text);
  const first = view.first ?? 1;
  const rows = useMemo(() => rowsOf(view, first === 1), [view, first]);
  const loaded = useMemo(() => hitsIn(rows, sought, words, nameOf), [rows, sought, words, nameOf]);
  const { older, isSearching } = useOlderHits(id, text, first);
  // The newest first, as a person reads back from the end.
  const hits = useMemo(
    () => [...older.filter(({ sequence }) => sequence < first), ...loaded].reverse(),
    [older, loaded, first],
  );
  const at = indexOf(hits, current);

  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const go = useCallback(
    (hit: TextHit | undefined) => {
      setCurrent(hit);
      show(hit, sought, () => {
        const root = bar.current?.parentElement;
        const range = root && hit && rangeOf(root, sought.trim().toLowerCase(), hit);
        if (range) reveal(range, root);
        return range !== undefined;
      });
    },
    [show, sought],
  );
  // A new text is shown at its newest hit.
  const shown = useRef("");
  useEffect(() => {
    if (shown.current === sought || text !== sought) return;
    if (!hits.length && isSearching) return; // the server may still find it
    shown.current = sought;
    go(hits[0]);
  }, [hits, sought, text, isSearching, go]);
  // The messages of a hit that the server has found are loaded now: its text can be shown.
  const told = hits[at];
  useEffect(() => {
    if (current && !current.position && told?.position && told.sequence <= current.sequence) go(told);
  }, [current, told, go]);
  const marked = useRef<TextHit>(undefined);
  marked.current = current && (told ?? current);
  const marks = useRef<TextMarks>(undefined);
  useEffect(() => {
    const root = bar.current?.parentElement;
    if (!root) return;
    marks.current = markText(root, sought, () => marked.current);
    return marks.current.end;
  }, [sought]);
  useEffect(() => marks.current?.update());

  const step = (by: number) => {
    if (!hits.length) return;
    go(hits[(at + by + hits.length) % hits.length]);
  };
  const pressed = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === field.current) step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
  };
  const said = !sought.trim()
    ? ""
    : hits.length
      ? words.find.count(at + 1, hits.length)
      : isSearching
        ? words.find.searching
        : words.find.none;
  return (
    <div ref={bar} className="find-bar" role="search" aria-label={words.find.title} onKeyDown={pressed}>
      <Icon name="search" />
      <input
        ref={field}
        type="text"
        enterKeyHint="search"
        aria-label={words.find.title}
        placeholder={words.find.title}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <span className="muted" role="status">
        {said}
      </span>
      <Step icon="up" label={words.find.earlier} keys="Enter" run={() => step(1)} isOff={!hits.length} />
      <Step
        icon="down"
        label={words.find.later}
        keys="Shift+Enter"
        run={() => step(-1)}
        isOff={!hits.length}
      />
      <Step icon="cross" label={words.close} keys="Esc" run={close} />
    </div>
  );
}

interface StepProps {
  icon: "up" | "down" | "cross";
  label: string;
  keys: string;
  run: () => void;
  isOff?: boolean;
}

function Step({ icon, label, keys, run, isOff = false }: StepProps) {
  return (
    <button
      type="button"
      className="quiet small"
      aria-label={label}
      title={`${label} (${keys})`}
      disabled={isOff}
      onClick={run}
    >
      <Icon name={icon} />
    </button>
  );
}

/** Returns the index of a hit. If its entry was loaded meanwhile, that of the row that contains it. */
function indexOf(hits: readonly TextHit[], hit: TextHit | undefined): number {
  if (hit === undefined) return 0;
  const isSame = ({ sequence, position }: TextHit) =>
    hit.position ? position?.inner === hit.position.inner : !position && sequence === hit.sequence;
  const same = hits.findIndex((each) => isSame(each) && each.nth === hit.nth);
  return same >= 0
    ? same
    : Math.max(
        0,
        hits.findIndex(({ sequence }) => sequence <= hit.sequence),
      );
}

/** Returns the entries that the server finds before the loaded ones, the oldest first. */
function useOlderHits(id: string, text: string, first: number) {
  const client = useTurnwire();
  const [found, setFound] = useState<{ text: string; hits: TextHit[] }>({ text: "", hits: [] });
  const sought = text.trim();
  const isNeeded = first > 1 && sought !== "";
  useEffect(() => {
    if (!isNeeded || found.text === sought) return;
    let isGone = false;
    const timer = setTimeout(() => {
      const query = `q=${encodeURIComponent(sought)}&conversation=${encodeURIComponent(id)}&limit=${MOST}`;
      client
        .request<{ hits: { sequence: number }[] }>("GET", `/api/search?${query}`)
        .then(
          ({ hits }) => hits.map(({ sequence }) => ({ sequence })).reverse(),
          () => [], // then only the loaded rows are searched
        )
        .then((hits) => isGone || setFound({ text: sought, hits }));
    }, PAUSE);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [client, id, sought, isNeeded, found.text]);
  const isKnown = found.text === sought;
  return { older: isKnown ? found.hits : NONE, isSearching: isNeeded && !isKnown };
}

const NONE: TextHit[] = [];
