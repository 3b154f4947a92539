// The agents that the server offers for a new conversation.
import type { Capabilities } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { useCallback, useEffect, useState } from "react";
import { useNotices } from "../app/Notices";
import { useChanges } from "../app/serverChanges";

export interface Agent {
  name: string;
  /** One line in English; empty if the agent has none. */
  description: string;
  version: string | null;
  /** What it can do beyond messages, answers and stops. `text` is English. */
  abilities: { name: string; text: string }[];
  ready: boolean;
  unavailable: string | null;
  default: boolean;
  capabilities: Capabilities;
}

/**
 * Asks the server for its agents until it answers: every few seconds, and at once when the page is
 * online or visible again. Returns those that are ready first, or why the last request has
 * failed: empty if the server cannot be reached, which the banner says.
 */
export function useAgents(): { agents: Agent[] | undefined; problem: string | undefined } {
  const client = useTurnwire();
  const { reasonOf, showRefusal } = useNotices();
  const [agents, setAgents] = useState<Agent[]>();
  const [problem, setProblem] = useState<unknown>();
  const ask = useCallback(() => {
    client.request<{ agents: Agent[] }>("GET", "/api/agents").then((told) => {
      const [ready, others] = [true, false].map((is) => told.agents.filter((each) => each.ready === is));
      setAgents([...(ready ?? []), ...(others ?? [])]);
    }, setProblem);
  }, [client]);
  useEffect(ask, [ask]);
  useChanges(ask, agents === undefined);
  const { code } = (problem ?? {}) as { code?: string };
  useEffect(() => {
    if (code === "UNAUTHORIZED") showRefusal(problem);
  }, [code, problem, showRefusal]);
  if (agents || problem === undefined) return { agents, problem: undefined };
  return { agents, problem: code === "UNREACHABLE" ? "" : reasonOf(problem) };
}
