import type { Snapshot } from "@turnwire/client";
import { useEffect, useState } from "react";
import { useWords } from "../app/language";
import { useOnline } from "../app/online";
import { connectionText } from "./stateText";

/** Milliseconds until the banner appears, and until it says that the problem lasts. */
const SOON = 300;
const LONG = 5_000;

/** Says that the view may be outdated. Ignores short interruptions. */
export function ConnectionBanner({ snapshot }: { snapshot: Snapshot }) {
  const words = useWords();
  const line = connectionText(snapshot, useOnline(), words);
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
  const said = late === "long" && line === words.connection.connecting ? words.connection.lost : line;
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
