import type { Snapshot } from "@turnwire/client";
import { useEffect, useState, useSyncExternalStore } from "react";
import { useWords } from "../app/words";
import { lineOf } from "./status";

function useOnline(): boolean {
  return useSyncExternalStore(
    (listener) => {
      addEventListener("online", listener);
      addEventListener("offline", listener);
      return () => {
        removeEventListener("online", listener);
        removeEventListener("offline", listener);
      };
    },
    () => navigator.onLine,
  );
}

/** Says when what is shown may not be the newest. What is over at once is not said. */
export function LineBanner({ snapshot }: { snapshot: Snapshot }) {
  const words = useWords();
  const said = lineOf(snapshot, useOnline(), words);
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (said === undefined) return;
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, [said]);
  const isShown = said !== undefined && isLate;
  return (
    <div className={`line-banner${isShown ? " shown" : ""}`} role="status" data-line={snapshot.connection}>
      {isShown && (
        <>
          <span className="spinner" aria-hidden="true" /> {said}
        </>
      )}
    </div>
  );
}
