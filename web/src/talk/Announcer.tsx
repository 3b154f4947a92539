// The one voice of a conversation for who does not see it: what the agent does, asks and has answered, in a few words.
import type { Snapshot, View } from "@turnwire/client";
import { useEffect, useRef, useState } from "react";
import { useWords } from "../app/words";
import { askedIn } from "../inbox/titles";
import type { Words } from "../words/en";

/** Characters of an answer that are read out: who wants more reads it. */
const MOST = 120;

interface Known {
  request: string | undefined;
  /** The turn that runs. */
  turn: number | undefined;
  /** The turn that ended last. */
  ended: number | undefined;
}

export function Announcer({ snapshot }: { snapshot: Pick<Snapshot, "view" | "connection"> }) {
  const words = useWords();
  const [said, setSaid] = useState("");
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
    if (news !== undefined) setSaid(news);
  }, [view, connection, words]);
  return (
    <p className="hidden announcer" role="status">
      {said}
    </p>
  );
}

function newsOf(view: View, before: Known, now: Known, words: Words): string | undefined {
  const request = view.status?.requests[0];
  if (request && now.request !== before.request)
    return request.kind === "question"
      ? words.announce.asks(shortened(askedIn(request, words)))
      : words.announce.wants(shortened(askedIn(request, words)));
  const ended = view.turns.at(-1)?.end;
  if (ended && now.ended !== before.ended) {
    if (ended.interrupted) return words.state.interrupted;
    return ended.is_error ? words.state.error : words.announce.answered(shortened(answerIn(view)));
  }
  return now.turn !== undefined && now.turn !== before.turn ? words.state.streaming : undefined;
}

/** The last words of the agent itself. */
function answerIn({ messages }: View): string {
  const texts = messages
    .slice(-20)
    .flatMap(({ role, blocks, parent_tool_use_id }) =>
      role === "assistant" && !parent_tool_use_id
        ? blocks.flatMap((block) => (block.type === "text" ? [block.text] : []))
        : [],
    );
  return texts.at(-1) ?? "";
}

function shortened(text: string): string {
  const plain = text
    .slice(0, MOST * 4)
    .replace(/[*_`#>|]/g, "")
    .replace(/\s+/g, " ")
    .trim();
  return plain.length > MOST ? `${plain.slice(0, MOST)}…` : plain;
}
