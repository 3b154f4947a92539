// The field for a message without its looks: its text, its keys, and what is sent.

import type { Capabilities, Conversation, SentContent, Status } from "@turnwire/client";
import { type KeyboardEvent, type RefObject, useCallback, useRef, useState } from "react";
import type { OnRefused } from "./action.js";

/** The text of the field. */
export interface Draft {
  readonly text: string;
  /** The text including changes that are not rendered yet. */
  readonly latest: RefObject<string>;
  /** `now`: store it at once, if it is stored. */
  readonly write: (text: string, when?: "now") => void;
}

/** A draft that lives as long as its component. */
export function useUnsavedDraft(): Draft {
  const [text, setText] = useState("");
  const latest = useRef("");
  const write = useCallback((to: string) => {
    latest.current = to;
    setText(to);
  }, []);
  return { text, latest, write };
}

/** What is sent besides the text. */
export interface Attached {
  readonly count: number;
  /** Whether something is not ready yet, for example an upload. */
  readonly isBusy: boolean;
  /** Takes it out of the composer, and returns the content of the message. */
  readonly take: (text: string) => { content: SentContent; sent?: () => void; refused?: () => void };
}

export interface ComposerOptions {
  status: Status | undefined;
  capabilities: Capabilities | undefined;
  /** Sends a message, perhaps into the running turn. */
  send: (content: SentContent, steer: boolean) => Promise<unknown>;
  draft: Draft;
  attached?: Attached | undefined;
  /** Earlier messages of the person, the newest last; the arrow keys go through them. */
  history?: (() => readonly string[]) | undefined;
  /** Is called with the error of each refused message. */
  onRefused?: OnRefused | undefined;
  /** Whether `send` itself puts the text of a refused message back. */
  keepsRefused?: boolean | undefined;
  /** Is called when the text is taken out of the field, to close lists and to keep the focus. */
  onSubmit?: (() => void) | undefined;
}

export interface UsedComposer {
  /** Whether there is nothing to send, or not yet. */
  readonly isEmpty: boolean;
  /** Whether a turn runs or waits: then a message is queued. */
  readonly isRunning: boolean;
  /** Whether a message can go into the running turn. */
  readonly maySteer: boolean;
  /** Sends the message; `steer`: into the running turn, if the agent can take it. */
  readonly submit: (steer?: boolean) => Promise<void>;
  /** Handles the keys of the field: Enter sends, Ctrl+Enter steers, the arrows show earlier messages. */
  readonly pressed: (event: KeyboardEvent<HTMLTextAreaElement>) => void;
  /** Forgets which earlier message is shown. */
  readonly leaveHistory: () => void;
  /** What the server has said to the last message, if it refused it. */
  readonly refusal: string | undefined;
}

export function useComposer(options: ComposerOptions): UsedComposer {
  const { status, capabilities, send, draft, attached, history, onRefused, keepsRefused, onSubmit } = options;
  const { text, latest, write } = draft;
  const [at, setAt] = useState<number>();
  const [refusal, setRefusal] = useState<string>();
  const isRunning = status?.running === true || status?.turn_id !== undefined;
  const maySteer = isRunning && capabilities?.steer === true;
  const isEmpty = (!text.trim() && !attached?.count) || attached?.isBusy === true;
  const leaveHistory = useCallback(() => setAt(undefined), []);

  const submit = async (steer = false) => {
    if (isEmpty) return;
    const words = text.trim();
    const taken = attached?.take(words) ?? { content: words };
    // The field is free at once: a server that is away takes the message later.
    write("", "now");
    leaveHistory();
    setRefusal(undefined);
    onSubmit?.();
    try {
      await send(taken.content, steer && maySteer);
      taken.sent?.();
    } catch (problem) {
      taken.refused?.();
      if (!keepsRefused) write(joinTexts(words, latest.current));
      setRefusal(problem instanceof Error ? problem.message : String(problem));
      onRefused?.(problem);
    }
  };

  const pressed = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return; // an input method uses Enter to choose a word
    if (event.key === "Enter" && !event.shiftKey && !isTouch()) {
      event.preventDefault();
      void submit(event.ctrlKey || event.metaKey);
    }
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    const before = history?.() ?? [];
    const isFree = text === "" || (at !== undefined && text === before[at]);
    const to = (at ?? before.length) + (event.key === "ArrowUp" ? -1 : 1);
    if (!isFree || to < 0 || !before.length) return;
    event.preventDefault();
    setAt(to < before.length ? to : undefined);
    write(before[to] ?? "");
  };

  return { isEmpty, isRunning, maySteer, submit, pressed, leaveHistory, refusal };
}

export interface UsedStop {
  /** Asks the agent to stop. Resolves to what the server said; to undefined if it refused. */
  readonly stop: () => Promise<Awaited<ReturnType<Conversation["interrupt"]>> | undefined>;
  /** Whether the running turn was asked to stop. */
  readonly isStopping: boolean;
}

/** Stops the running turn. Each turn is asked by itself: a press must not stop the next one. */
export function useStop(
  conversation: Pick<Conversation, "view" | "interrupt">,
  status: Status | undefined,
  onRefused?: OnRefused,
): UsedStop {
  const [stopping, setStopping] = useState<number>();
  const stop = useCallback(async () => {
    const turn = conversation.view().status?.turn_id;
    setStopping(turn);
    try {
      return await conversation.interrupt(turn);
    } catch (problem) {
      setStopping(undefined);
      onRefused?.(problem);
      return undefined;
    }
  }, [conversation, onRefused]);
  return { stop, isStopping: stopping !== undefined && stopping === status?.turn_id };
}

/** Joins both texts, so that neither is lost. */
export function joinTexts(text: string, more: string): string {
  return text && more ? `${text}\n\n${more}` : text || more;
}

/** On a touch screen Enter begins a new line, and a focused field opens the keyboard. */
export function isTouch(): boolean {
  return matchMedia("(pointer: coarse)").matches;
}
