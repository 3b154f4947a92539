// The words of the components. English is built in; TurnwireProvider takes others.
import { createContext, useContext, useMemo } from "react";

export interface Words {
  message: string;
  send: string;
  /** Puts a message into the queue, while a turn runs. */
  sendLater: string;
  addToTurn: string;
  stop: string;
  stopping: string;
  attach: string;
  remove: (name: string) => string;
  /** The agent cannot read a file of this kind. */
  notTaken: (name: string, isPicture: boolean) => string;
  /** A long text was pasted, and became this file. */
  longPaste: (name: string) => string;
  /** The agent does not take a pasted text of this size as a file. */
  longPasteRefused: (size: string) => string;
  pasteAsText: string;
  loadOlder: string;
  connecting: string;
  sending: string;
  thinking: string;
  plan: string;
  /** The state of a step of a plan: `pending`, `in_progress`, `completed`, or the agent's own word. */
  planStatus: (status: string) => string;
  /** The state of a tool call. */
  running: string;
  done: string;
  failed: string;
  denied: string;
  /** The permission was withdrawn, or its deadline has passed. */
  cancelled: string;
  expired: string;
  interrupted: string;
  inBackground: string;
  needsPermission: string;
  needsAnswer: string;
  picture: string;
  file: string;
  download: (name: string) => string;
  size: (bytes: number) => string;
  mayRun: (tool: string) => string;
  allow: string;
  deny: string;
  /** `rule`: only if there are several to choose from. */
  alwaysAllow: (rule?: string) => string;
  allowAll: (count: number) => string;
  denyAll: (count: number) => string;
  /** Why all permissions cannot be decided now. */
  closeForm: string;
  denyWithReason: string;
  edit: string;
  whatRuns: string;
  whyNot: string;
  runsNothing: string;
  notJson: (problem: string) => string;
  allowThis: string;
  back: string;
  answer: string;
  skip: string;
  answerMissing: string;
  ownAnswer: (question: string) => string;
  /** In the empty field for an own answer. */
  ownAnswerHint: string;
  nothingWaits: string;
  /** A conversation without a title. */
  untitled: string;
  loadMore: string;
}

const PLAN_STATUS: Record<string, string> = {
  pending: "to do",
  in_progress: "in progress",
  completed: "done",
};

const ENGLISH: Words = {
  message: "Write a message",
  send: "Send",
  sendLater: "Send, to run after this turn",
  addToTurn: "Add to this turn",
  stop: "Stop",
  stopping: "Stopping ...",
  attach: "Attach files",
  remove: (name) => `Remove ${name}`,
  notTaken: (name) => `This agent does not take ${name}.`,
  longPaste: (name) => `The long text is now the file ${name}.`,
  longPasteRefused: (size) =>
    `The text that you pasted has ${size}. This agent takes texts of at most 100 kB as files.`,
  pasteAsText: "Paste as text",
  loadOlder: "Load older messages",
  connecting: "Connecting ...",
  sending: "Sending ...",
  thinking: "Thinking",
  plan: "Plan",
  planStatus: (status) => PLAN_STATUS[status] ?? status,
  running: "running",
  done: "done",
  failed: "failed",
  denied: "denied",
  cancelled: "withdrawn",
  expired: "not answered in time",
  interrupted: "interrupted",
  inBackground: "in the background",
  needsPermission: "needs permission",
  needsAnswer: "needs an answer",
  picture: "Picture",
  file: "File",
  download: (name) => `Download ${name}`,
  size: (bytes) => (bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`),
  mayRun: (tool) => `May ${tool} run?`,
  allow: "Allow",
  deny: "Deny",
  alwaysAllow: (rule) => (rule === undefined ? "Always allow" : `Always allow: ${rule}`),
  allowAll: (count) => `Allow all ${count}`,
  denyAll: (count) => `Deny all ${count}`,
  closeForm: "Send or close the open form first",
  denyWithReason: "Deny with a reason",
  edit: "Edit",
  whatRuns: "What is to run",
  whyNot: "Why not?",
  runsNothing: "This would run nothing.",
  notJson: (problem) => `This is not valid JSON: ${problem}`,
  allowThis: "Allow this",
  back: "Back",
  answer: "Answer",
  skip: "Skip",
  answerMissing: "Each question needs an answer.",
  ownAnswer: (question) => `Your own answer: ${question}`,
  ownAnswerHint: "Your own answer",
  nothingWaits: "Nothing waits for an answer.",
  untitled: "New conversation",
  loadMore: "Load more",
};

/** The words that a page replaces. */
export const WordsContext = /* @__PURE__ */ createContext<Partial<Words> | undefined>(undefined);

/** Returns the words of the nearest TurnwireProvider; English where it has none. */
export function useWords(): Words {
  const own = useContext(WordsContext);
  return useMemo(() => (own ? { ...ENGLISH, ...own } : ENGLISH), [own]);
}
