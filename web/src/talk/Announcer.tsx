// Announces to screen readers that the agent works, asks or has answered. The answer itself is read
// in its place.
import type { Snapshot, View } from "@turnwire/client";
import { useEffect, useRef, useState } from "react";
import { useWords } from "../app/language";
import type { Words } from "../words/en";

interface Known {
  request: string | undefined;
  /** The running turn. */
  turn: number | undefined;
  /** The turn that ended last. */
  ended: number | undefined;
}

export function Announcer({ snapshot }: { snapshot: Pick<Snapshot, "view" | "connection"> }) {
  const words = useWords();
  const [said, setSaid] = useState({ text: "", times: 0 });
  const known = useRef<Known>(undefined);
  const { view, connection } = snapshot;
  useEffect(() => {
    if (connection !== "connected") return;
    const before = known.current;
    const now: Known = {
      request: view.status?.requests[0]?.request_id,
      turn: view.status?.turn_id,
      ended: view.turns.at(-1)?.turn_id,
    };
    known.current = now;
    if (before === undefined) return; // the first state is not announced
    const news = newsOf(view, before, now, words);
    if (news !== undefined) setSaid(({ times }) => ({ text: news, times: times + 1 }));
  }, [view, connection, words]);
  return (
    <p className="hidden announcer" role="status">
      {/* A new element each time: an unchanged one is not read out. */}
      <span key={said.times}>{said.text}</span>
    </p>
  );
}

function newsOf(view: View, before: Known, now: Known, words: Words): string | undefined {
  const request = view.status?.requests[0];
  if (request && now.request !== before.request)
    return request.kind === "question" ? words.announce.asks : words.announce.wants;
  const ended = view.turns.at(-1)?.end;
  if (ended && now.ended !== before.ended) {
    if (ended.interrupted) return words.state.interrupted;
    return ended.is_error ? words.state.error : words.announce.answered;
  }
  return now.turn !== undefined && now.turn !== before.turn ? words.state.streaming : undefined;
}
