// Notices at the edge of the page: refusals with their reasons, and confirmations.

import { Refused } from "@turnwire/client";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { Icon } from "./Icon";
import { useWords } from "./language";
import { lookUp } from "./lookup";
import { notifyChange } from "./serverChanges";

type Tone = "calm" | "bad";

/** An action of a notice. */
interface Action {
  label: string;
  run: () => void;
  /** Called when a person dismisses the notice: then the action is not offered any more. */
  dismissed?: () => void;
}

interface Notice {
  key: number;
  text: string;
  tone: Tone;
  action?: Action | undefined;
}

interface Notices {
  /** Returns a function that removes the notice. */
  showNotice: (text: string, tone?: Tone, action?: Action) => () => void;
  /** Returns the reason of a refusal as text, to show it next to the action. */
  reasonOf: (problem: unknown) => string;
  /** Shows the reason of a refusal. */
  showRefusal: (problem: unknown) => void;
  /** Returns the result; if it is refused, shows the reason and returns undefined. */
  showingRefusal: <T>(work: Promise<T>) => Promise<T | undefined>;
}

const Context = createContext<Notices>({
  showNotice: () => () => {},
  reasonOf: String,
  showRefusal: () => {},
  showingRefusal: (work) => work,
});
/** Milliseconds. A notice with an action stays longer, to be read and reached. */
const LASTS = { calm: 4_000, bad: 10_000, action: 20_000 };
let keys = 0;

export function NoticesProvider({ children }: { children: ReactNode }) {
  const words = useWords();
  const [all, setAll] = useState<Notice[]>([]);
  const drop = useCallback((key: number) => setAll((now) => now.filter((each) => each.key !== key)), []);
  const showNotice = useCallback(
    (text: string, tone: Tone = "bad", action?: Action) => {
      keys += 1;
      const key = keys;
      setAll((now) => [...now.slice(-3), { key, text, tone, action }]);
      setTimeout(() => drop(key), action ? LASTS.action : LASTS[tone]);
      return () => drop(key);
    },
    [drop],
  );
  const reasonOf = useCallback(
    (problem: unknown) => {
      const code = codeOf(problem);
      // How to correct an invalid frame is a hint for programmers only.
      const hasHint = problem instanceof Refused && problem.whatToDo && code !== "INVALID_PAYLOAD";
      return (
        lookUp(words.refused, code) ?? `${(problem as Error).message}${hasHint ? ` ${problem.whatToDo}` : ""}`
      );
    },
    [words],
  );
  const showRefusal = useCallback(
    (problem: unknown) => {
      if (codeOf(problem) === "UNAUTHORIZED")
        notifyChange(); // the whole page shows it
      else showNotice(reasonOf(problem));
    },
    [showNotice, reasonOf],
  );
  const showingRefusal = useCallback(
    async <T,>(work: Promise<T>): Promise<T | undefined> => {
      try {
        return await work;
      } catch (problem) {
        showRefusal(problem);
        return undefined;
      }
    },
    [showRefusal],
  );
  const value = useMemo(
    () => ({ showNotice, reasonOf, showRefusal, showingRefusal }),
    [showNotice, reasonOf, showRefusal, showingRefusal],
  );
  return (
    <Context.Provider value={value}>
      {children}
      <div className="notices" role="status" aria-live="polite">
        {all.map((each) => (
          <div key={each.key} className={`notice ${each.tone}`}>
            <span>{each.text}</span>
            {each.action && (
              <button
                type="button"
                className="small"
                onClick={() => {
                  drop(each.key);
                  each.action?.run();
                }}
              >
                {each.action.label}
              </button>
            )}
            <button
              type="button"
              className="quiet small"
              aria-label={words.dismiss}
              onClick={() => {
                drop(each.key);
                each.action?.dismissed?.();
              }}
            >
              <Icon name="cross" />
            </button>
          </div>
        ))}
      </div>
    </Context.Provider>
  );
}

export function useNotices(): Notices {
  return useContext(Context);
}

function codeOf(problem: unknown): string {
  return (problem as { code?: string }).code ?? "";
}
