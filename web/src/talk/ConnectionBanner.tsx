import type { Snapshot } from "@turnwire/client";
import { useInbox } from "@turnwire/react";
import { useEffect, useState } from "react";
import { useWords } from "../app/language";
import { useOnline } from "../app/online";
import { connectionText } from "./stateText";

/** Milliseconds until the banner appears, and until it says that the problem lasts. */
const SOON = 300;
const LONG = 5_000;

/** Says that the view of a conversation may be outdated. */
export function ConnectionBanner({ snapshot }: { snapshot: Snapshot }) {
  const words = useWords();
  const line = connectionText(snapshot, useOnline(), words);
  const lasting = line === words.connection.connecting ? words.connection.lost : line;
  return <Banner line={line} lasting={lasting} connection={snapshot.connection} />;
}

/** Says on the other pages that the server does not answer. The inbox asks it all the time. */
export function ServerBanner() {
  const { noNetwork, noServer } = useWords().connection;
  const { error } = useInbox();
  const isOnline = useOnline();
  // A person who is not signed in sees another page.
  const line = !isOnline ? noNetwork : error && error.code !== "UNAUTHORIZED" ? noServer : undefined;
  return <Banner line={line} lasting={line} connection={undefined} />;
}

/** Ignores short interruptions. `lasting`: the text for one that lasts. */
function Banner({
  line,
  lasting,
  connection,
}: Record<"line" | "lasting" | "connection", string | undefined>) {
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
  const isShown = line !== undefined && late !== undefined;
  return (
    <div className={`line-banner${isShown ? " shown" : ""}`} role="status" data-line={connection}>
      {isShown && (
        <>
          <span className="spinner" aria-hidden="true" /> {late === "long" ? lasting : line}
        </>
      )}
    </div>
  );
}
