// A permission request without its looks: what can be decided, in which form, and what is sent.

import type { OpenRequest, PermissionChoice } from "@turnwire/client";
import { useEffect, useState } from "react";
import { type Action, type OnRefused, useAction } from "./action.js";
import { fromEditable, hasEmptyCommand, toEditable } from "./editable_input.js";
import { isObject, textIn } from "./json.js";
import type { StartedReply } from "./started_reply.js";

export type Decide = (
  requestId: string,
  decision: PermissionChoice["decision"],
  more?: Omit<PermissionChoice, "request_id" | "decision">,
) => Promise<unknown>;

export interface PermissionOptions {
  onRefused?: OnRefused | undefined;
  started?: StartedReply | undefined;
  /** The position among the shown requests. If it changes, the request is not ready for a moment. */
  place?: number | undefined;
}

/** The buttons alone, a field for the reason of a denial, or a field for the changed input. */
export type PermissionFormKind = "plain" | "deny" | "edit";

/** Why a changed input cannot be sent. */
export type EditProblem = { kind: "empty" } | { kind: "json"; message: string };

export interface UsedPermission extends Omit<Action, "run"> {
  readonly allow: () => void;
  readonly deny: () => void;
  /** Allows it and remembers rules: one of `rules`. */
  readonly always: (rules: readonly unknown[]) => void;
  /** What "always" can mean. Empty if the agent offers no rule. */
  readonly rules: readonly (readonly unknown[])[];
  /** False while a decision is sent, and for a moment after the request has come to its place. */
  readonly isReady: boolean;
  /** Whether the agent takes a reason of a denial, and a changed input. */
  readonly takesText: boolean;
  readonly form: PermissionFormKind;
  /** The text of the form. */
  readonly text: string;
  readonly problem: EditProblem | undefined;
  readonly openForm: (form: "deny" | "edit") => void;
  readonly write: (text: string) => void;
  /** Sends the form. */
  readonly submit: () => void;
  /** Closes the form, and deletes its text. */
  readonly back: () => void;
}

/** Milliseconds. A key press or click for the previous request must not decide this one, which is still unread. */
const UNREAD_TIME = 400;

interface Written {
  form: PermissionFormKind;
  text: string;
}

const PLAIN: Written = { form: "plain", text: "" };

export function usePermission(
  request: OpenRequest,
  decide: Decide,
  { onRefused, started, place = 0 }: PermissionOptions = {},
): UsedPermission {
  const [{ form, text }, setWritten] = useState(() => writtenIn(started?.read()));
  const [problem, setProblem] = useState<EditProblem>();
  const { run, isBusy, refusal } = useAction(onRefused);
  const isStable = useIsStable(place);
  const tell = async (...how: Tail<Parameters<Decide>>) => {
    if (await run(() => decide(request.request_id, ...how))) started?.write(undefined);
  };
  const submitEdit = () => {
    if (!text.trim()) return setProblem({ kind: "empty" });
    const { isCommand } = toEditable(request.input);
    let changed: unknown;
    try {
      changed = fromEditable({ text, isCommand }, request.input);
    } catch (error) {
      return setProblem({ kind: "json", message: (error as Error).message });
    }
    if (hasEmptyCommand(changed)) return setProblem({ kind: "empty" });
    void tell("allow", { updated_input: changed });
  };
  return {
    isBusy,
    refusal,
    isReady: isStable && !isBusy,
    allow: () => void tell("allow"),
    deny: () => void tell("deny"),
    always: (rules) => void tell("allow", { remember: [...rules] }),
    rules: meaningsOfAlways(request),
    takesText: !request.decision_only,
    form,
    text,
    problem,
    openForm: (to) => setWritten({ form: to, text: to === "edit" ? toEditable(request.input).text : "" }),
    write: (to) => {
      setProblem(undefined);
      setWritten({ form, text: to });
      started?.write({ mode: form, text: to });
    },
    submit: () => {
      if (form === "edit") return submitEdit();
      const reason = text.trim();
      void tell("deny", reason ? { reason } : {});
    },
    back: () => {
      started?.write(undefined);
      setProblem(undefined);
      setWritten(PLAIN);
    },
  };
}

type Tail<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

/** Whether what is at this place, or these requests, have been there for long enough to be read. */
export function useIsStable(place: number | string): boolean {
  const [stays, setStays] = useState<number | string>();
  useEffect(() => {
    const timer = setTimeout(() => setStays(place), UNREAD_TIME);
    return () => clearTimeout(timer);
  }, [place]);
  return stays === place;
}

/** All rules together, or each by itself if the agent takes only one. */
function meaningsOfAlways({ decision_only, suggestions = [] }: OpenRequest): unknown[][] {
  if (decision_only) return suggestions.map((each) => [each]);
  return suggestions.length ? [[...suggestions]] : [];
}

/** Reads a stored reply. Ignores invalid parts. */
function writtenIn(stored: unknown): Written {
  const text = textIn(stored, "text");
  if (!isObject(stored) || !text || (stored.mode !== "deny" && stored.mode !== "edit")) return PLAIN;
  return { form: stored.mode, text };
}
