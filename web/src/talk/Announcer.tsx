// The one voice of a conversation for who does not see it: that the agent works, asks or has answered. What it says is read in its place.
import type { Snapshot, View } from "@turnwire/client";
import { useEffect, useRef, useState } from "react";
import { useWords } from "../app/words";
import type { Words } from "../words/en";

interface Known {
  request: string | undefined;
  /** The turn that runs. */
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
    if (before === undefined) return; // what was there when one came is no news
    const news = newsOf(view, before, now, words);
    if (news !== undefined) setSaid(({ times }) => ({ text: news, times: times + 1 }));
  }, [view, connection, words]);
  return (
    <p className="hidden announcer" role="status">
      {/* Another element each time: what does not change is not read out. */}
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
