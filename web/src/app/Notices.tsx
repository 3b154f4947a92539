// Notices at the edge of the page: refusals with their reasons, and confirmations.

import { Refused } from "@turnwire/client";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { tellChange } from "./changes";
import { Icon } from "./Icon";
import { known } from "./lookup";
import { useWords } from "./words";

type Tone = "calm" | "bad";

/** An action of a notice. */
interface Action {
  label: string;
  run: () => void;
}

interface Notice {
  key: number;
  text: string;
  tone: Tone;
  action?: Action | undefined;
}

interface Notices {
  say: (text: string, tone?: Tone, action?: Action) => void;
  /** Returns the reason of a refusal as text, to show it next to the action. */
  reasonOf: (problem: unknown) => string;
  /** Shows the reason of a refusal. */
  explain: (problem: unknown) => void;
  /** Returns the result; if it is refused, shows the reason and returns undefined. */
  trying: <T>(work: Promise<T>) => Promise<T | undefined>;
}

const Context = createContext<Notices>({
  say: () => {},
  reasonOf: String,
  explain: () => {},
  trying: (work) => work,
});
/** Milliseconds. A notice with an action stays longer, to be read and reached. */
const LASTS = { calm: 4_000, bad: 10_000, action: 20_000 };
let keys = 0;

export function NoticesProvider({ children }: { children: ReactNode }) {
  const words = useWords();
  const [all, setAll] = useState<Notice[]>([]);
  const drop = useCallback((key: number) => setAll((now) => now.filter((each) => each.key !== key)), []);
  const say = useCallback(
    (text: string, tone: Tone = "bad", action?: Action) => {
      keys += 1;
      const key = keys;
      setAll((now) => [...now.slice(-3), { key, text, tone, action }]);
      setTimeout(() => drop(key), action ? LASTS.action : LASTS[tone]);
    },
    [drop],
  );
  const reasonOf = useCallback(
    (problem: unknown) => {
      const code = codeOf(problem);
      // How to correct an invalid frame is a hint for programmers only.
      const hasHint = problem instanceof Refused && problem.whatToDo && code !== "INVALID_PAYLOAD";
      return (
        known(words.refused, code) ?? `${(problem as Error).message}${hasHint ? ` ${problem.whatToDo}` : ""}`
      );
    },
    [words],
  );
  const explain = useCallback(
    (problem: unknown) => {
      if (codeOf(problem) === "UNAUTHORIZED")
        tellChange(); // the whole page shows it
      else say(reasonOf(problem));
    },
    [say, reasonOf],
  );
  const trying = useCallback(
    async <T,>(work: Promise<T>): Promise<T | undefined> => {
      try {
        return await work;
      } catch (problem) {
        explain(problem);
        return undefined;
      }
    },
    [explain],
  );
  const value = useMemo(() => ({ say, reasonOf, explain, trying }), [say, reasonOf, explain, trying]);
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
              onClick={() => drop(each.key)}
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
