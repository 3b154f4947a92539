// How full the agent's context is, next to the choices of the composer.
import type { Snapshot } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { useEffect, useRef, useState } from "react";
import { sendControl } from "../agent/controls";
import { store, useStored } from "../app/browserStorage";
import { useWords } from "../app/language";
import { supportsControl } from "../talk/capabilities";
import { OPTIONS } from "../talk/connectionOptions";
import { type ContextUse, storeContextUse } from "./contextUse";
import { contextName, readStartedText } from "./drafts";

/** Percent from which the gauge warns, and from which it is nearly full. */
const WARNS = 70;
const FULL = 90;

interface Props {
  id: string;
  talk: Pick<Snapshot, "view" | "capabilities" | "connection">;
  /** Whether the panel of the agent is open: it asks the agent itself. */
  isOpen: boolean;
  open: () => void;
}

export function ContextGauge(props: Props) {
  return supportsControl(props.talk.capabilities, "context_usage") ? <Gauge {...props} /> : null;
}

function Gauge({ id, talk, isOpen, open }: Props) {
  const words = useWords();
  const use = useUse(id, talk.view.status?.last_turn_id, talk.connection === "connected", isOpen);
  if (!use) return null;
  const percent = Math.round(use.percent);
  const level = percent >= FULL ? "full" : percent >= WARNS ? "filling" : "calm";
  const number = (tokens: number) => tokens.toLocaleString(words.locale);
  const about = words.contextGauge.about(
    number(use.total),
    use.most === undefined ? undefined : number(use.most),
  );
  return (
    <button
      type="button"
      className={`quiet context-gauge ${level}`}
      aria-label={words.contextGauge.label(percent)}
      title={`${about} ${words.contextGauge.whenFull}`}
      onClick={open}
    >
      <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false">
        <circle cx="10" cy="10" r="7.5" />
        <circle
          className="used"
          cx="10"
          cy="10"
          r="7.5"
          pathLength="100"
          strokeDasharray={`${Math.min(percent, 100)} 100`}
        />
        {level === "full" && <path d="M10 6.2v4.6M10 13.4h.01" />}
      </svg>
      {level !== "calm" && <span aria-hidden="true">{percent}%</span>}
    </button>
  );
}

/**
 * Returns what the agent has said last. Asks it once at the end of each turn that ends while the
 * page is open, as soon as the tab is visible. Asks at no other time: the agent may be closed then,
 * and a question would start it.
 */
function useUse(id: string, turn: number | undefined, isConnected: boolean, isOpen: boolean) {
  const client = useTurnwire();
  const [stored] = useStored(contextName(id));
  const [isAsking, setAsking] = useState(false);
  /** The last turn that is not asked about any more; null: not connected yet. */
  const asked = useRef<number | undefined | null>(null);
  useEffect(() => {
    if (!isConnected) return;
    if (asked.current === null || isOpen) asked.current = turn;
    if (asked.current === turn) return;
    const ask = async () => {
      if (document.hidden || asked.current === turn) return;
      asked.current = turn;
      setAsking(true);
      try {
        const used = await sendControl(client.conversation(id, OPTIONS), "context_usage");
        if (asked.current === turn) storeContextUse(id, turn, used);
      } catch {
        store(contextName(id), null); // what it said before the turn is wrong now
      }
      setAsking(false);
    };
    void ask();
    document.addEventListener("visibilitychange", ask);
    return () => document.removeEventListener("visibilitychange", ask);
  }, [client, id, turn, isConnected, isOpen]);
  const use = stored === null ? undefined : readStartedText<ContextUse>(contextName(id));
  // What it said before the last turn stays until it has answered.
  const isAboutToAsk = asked.current !== null && asked.current !== turn;
  return use && (use.turn === turn || isAsking || isAboutToAsk) ? use : undefined;
}
