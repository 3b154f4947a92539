// The messages, and the bar that finds text in them.
import { type ComponentProps, useCallback, useEffect, useRef, useState } from "react";
import { useAction } from "../app/actions";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { composer } from "../app/focus";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { goTo } from "../app/navigation";
import { onDemand } from "../app/onDemand";
import { useKeys } from "../app/shortcuts";
import type { FoundText, TextHit } from "./findText";
import { usePrint } from "./printing";
import { Timeline } from "./Timeline";

const FindBar = onDemand(async () => (await import("./FindBar")).default);

/** The event by which a button outside of it opens the bar. */
const OPEN = "turnwire:find";

export function openFindBar(): void {
  dispatchEvent(new Event(OPEN));
}

type Props = Omit<ComponentProps<typeof Timeline>, "found">;

export function FindableTimeline(props: Props) {
  const { id, at, snapshot } = props;
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  const [found, setFound] = useState<FoundText>();
  useAction({ name: "find", label: words.find.title, icon: "search", shortcut: "find", run: openFindBar });
  const latest = useRef(props);
  latest.current = props;
  const { showNotice, showRefusal } = useNotices();
  const loadAll = useCallback(async () => {
    const isWhole = () => (latest.current.snapshot.view.first ?? 1) <= 1;
    if (!isWhole()) showNotice(words.loadingToPrint, "calm");
    try {
      // One page of messages each time.
      while (!isWhole()) {
        const before = latest.current.snapshot.view.first;
        await latest.current.loadOlder();
        await new Promise(requestAnimationFrame); // rendered
        if (latest.current.snapshot.view.first === before) break;
      }
    } catch (problem) {
      showRefusal(problem);
      throw problem;
    }
  }, [showNotice, showRefusal, words]);
  usePrint(loadAll);
  useEffect(() => {
    const open = () => setOpen(true);
    addEventListener(OPEN, open);
    return () => removeEventListener(OPEN, open);
  }, []);
  useKeys({
    find: () => {
      const field = document.querySelector<HTMLInputElement>(".find-bar input");
      if (field !== null && field === document.activeElement) return false; // the browser's own search
      setOpen(true);
      field?.select();
    },
  });
  const show = useCallback(
    (hit: TextHit | undefined, text: string, reveal: () => boolean) => {
      setFound(hit && { hit, text, reveal });
      if (hit && !hit.position) goTo({ name: "talk", id, at: hit.sequence }, "replace");
    },
    [id],
  );
  const close = useCallback(() => {
    setOpen(false);
    setFound(undefined);
    composer()?.focus();
  }, []);
  return (
    <div className="findable">
      {isOpen && (
        <ErrorBoundary instead={nothing}>
          <FindBar id={id} view={snapshot.view} show={show} close={close} />
        </ErrorBoundary>
      )}
      <Timeline key={`${id} ${at ?? ""}`} {...props} found={found} />
    </div>
  );
}

const nothing = () => null;
