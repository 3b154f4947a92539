// Controls of the agent, outside of the turns, and their results.
import type { Commands, ContextUsed, Conversation, McpServers } from "@turnwire/client";
import { useCallback, useEffect, useRef, useState } from "react";

interface Answers {
  mcp_status: McpServers;
  context_usage: ContextUsed;
  commands: Commands;
}

/**
 * Sends a control. It may take seconds, because it starts the agent's process if needed. Rejects as
 * `control` does.
 */
export async function sendControl<Name extends keyof Answers>(
  conversation: Conversation,
  control: Name,
): Promise<Answers[Name]> {
  return (await conversation.control({ control })).result as Answers[Name];
}

export interface ControlState<T> {
  /** Undefined until the first answer; during a reload, the last answer. */
  answer: T | undefined;
  /** The error of the last request. */
  problem: unknown;
  isAsking: boolean;
  again: () => Promise<void>;
}

/** Returns the answer and a function to reload it; also reloads when `since` changes. */
export function useControl<Name extends keyof Answers>(
  conversation: Conversation,
  control: Name,
  isOn: boolean,
  since?: unknown,
): ControlState<Answers[Name]> {
  const [answer, setAnswer] = useState<Answers[Name]>();
  const [problem, setProblem] = useState<unknown>();
  const [isAsking, setAsking] = useState(isOn);
  const rounds = useRef(0);
  const again = useCallback(async () => {
    if (!isOn) return;
    rounds.current += 1;
    const round = rounds.current;
    setAsking(true);
    const isLast = () => round === rounds.current; // otherwise a later request is running
    try {
      const told = await sendControl(conversation, control);
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
