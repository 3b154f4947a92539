// What the agent is asked beside the talk, and what it has answered.
import type { Commands, ContextUsed, Conversation, McpServers } from "@turnwire/client";
import { useCallback, useEffect, useRef, useState } from "react";

interface Answers {
  mcp_status: McpServers;
  context_usage: ContextUsed;
  commands: Commands;
}

/** Asks it. It may take some seconds: its process is started for it if it sleeps. Rejects as `control` does. */
export async function ask<Name extends keyof Answers>(
  conversation: Conversation,
  control: Name,
): Promise<Answers[Name]> {
  return (await conversation.control({ control })).result as Answers[Name];
}

export interface Asked<T> {
  /** Nothing until it has answered; while it is asked again, what it said before. */
  answer: T | undefined;
  /** Why there is no other. */
  problem: unknown;
  isAsking: boolean;
  again: () => Promise<void>;
}

/** Its answer, and a way to ask again; that also happens when `since` changes. */
export function useAsked<Name extends keyof Answers>(
  conversation: Conversation,
  control: Name,
  isOn: boolean,
  since?: unknown,
): Asked<Answers[Name]> {
  const [answer, setAnswer] = useState<Answers[Name]>();
  const [problem, setProblem] = useState<unknown>();
  const [isAsking, setAsking] = useState(isOn);
  const rounds = useRef(0);
  const again = useCallback(async () => {
    if (!isOn) return;
    rounds.current += 1;
    const round = rounds.current;
    setAsking(true);
    const isLast = () => round === rounds.current; // else a later one is on its way
    try {
      const told = await ask(conversation, control);
      if (!isLast()) return;
      setAnswer(told);
      setProblem(undefined);
    } catch (problem) {
      if (!isLast()) return;
      setProblem(problem);
    }
    setAsking(false);
  }, [conversation, control, isOn]);
  useEffect(() => {
    void again();
    return () => {
      rounds.current += 1;
    };
  }, [again, since]);
  return { answer, problem, isAsking, again };
}
