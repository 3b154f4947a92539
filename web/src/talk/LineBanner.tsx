import type { Snapshot } from "@turnwire/client";
import { useEffect, useState } from "react";
import { useOnline } from "../app/online";
import { useWords } from "../app/words";
import { lineOf } from "./status";

/** Milliseconds until the banner appears, and until it says that the problem lasts. */
const SOON = 300;
const LONG = 5_000;

/** Says that the view may be outdated. Ignores short interruptions. */
export function LineBanner({ snapshot }: { snapshot: Snapshot }) {
  const words = useWords();
  const line = lineOf(snapshot, useOnline(), words);
  const [late, setLate] = useState<"soon" | "long">();
  useEffect(() => {
    setLate(undefined);
    if (line === undefined) return;
    const soon = setTimeout(() => setLate("soon"), SOON);
    const long = setTimeout(() => setLate("long"), LONG);
    return () => {
      clearTimeout(soon);
      clearTimeout(long);
    };
  }, [line]);
  const said = late === "long" && line === words.line.connecting ? words.line.lost : line;
  const isShown = said !== undefined && late !== undefined;
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
