// How full the agent's context was after the last turn that this browser has asked about.
import type { ContextUsed } from "@turnwire/client";
import { useEffect } from "react";
import { store } from "../app/browserStorage";
import { contextName } from "./drafts";

export interface ContextUse {
  /** The id of the turn after which the agent said it. */
  turn: number | undefined;
  total: number;
  /** The tokens that the model can read; absent: the agent does not know it. */
  most?: number | undefined;
  percent: number;
}

/** Stores what the agent says; an agent that does not know how much its model can read says too little. */
export function storeContextUse(conversation: string, turn: number | undefined, used: ContextUsed): void {
  const { total_tokens: total, max_tokens: most, percentage } = used;
  const percent = percentage ?? (most ? (total / most) * 100 : undefined);
  const use: ContextUse | null = percent === undefined ? null : { turn, total, most, percent };
  store(contextName(conversation), use && JSON.stringify(use));
}

/** Stores an answer that the panel has asked for: it belongs to the last turn before it. */
export function useContextUse(
  conversation: string,
  turn: number | undefined,
  used: ContextUsed | undefined,
): void {
  useEffect(() => {
    if (used) storeContextUse(conversation, turn, used);
  }, [conversation, used]);
}
