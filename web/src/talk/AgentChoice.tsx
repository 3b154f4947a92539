// The agent that speaks, and the others that may take the conversation over.
import { useTurnwire } from "@turnwire/react";
import { useEffect, useState } from "react";
import { useWords } from "../app/language";
import { MenuSelect } from "../app/Menu";

interface Props {
  /** The agent that speaks now. */
  current: string;
  /** The agent that was chosen for the next turn. */
  next: string | null | undefined;
  choose: (agent: string) => void;
}

/** Offers the agents that are ready. An agent that is not ready is left out: it would be refused. */
export function AgentChoice({ current, next, choose }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const [ready, setReady] = useState<string[]>([]);
  useEffect(() => {
    let isGone = false;
    void client
      .request<{ agents: { name: string; ready: boolean }[] }>("GET", "/api/agents")
      .then(({ agents }) => {
        if (!isGone) setReady(agents.filter((each) => each.ready).map(({ name }) => name));
      })
      .catch(() => undefined); // the choice stays hidden; the connection tells what is wrong
    return () => {
      isGone = true;
    };
  }, [client]);
  const names = [...new Set([current, ...(next ? [next] : []), ...ready])];
  if (names.length < 2) return null;
  return (
    <div className="agent-choice">
      <MenuSelect
        label={words.handover.label}
        all={names.map((value) => ({ value, text: value === next ? words.handover.next(value) : value }))}
        chosen={next ?? current}
        choose={choose}
      />
    </div>
  );
}
