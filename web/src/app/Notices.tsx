// Short words at the edge of the page: what was refused, and why; what was done.
import { TurnwireError } from "@turnwire/client";
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import { Icon } from "./Icon";
import { useWords } from "./words";

type Tone = "calm" | "bad";

interface Notice {
  key: number;
  text: string;
  tone: Tone;
}

interface Notices {
  say: (text: string, tone?: Tone) => void;
  /** What comes of it; if it is refused, the person is told why, and nothing comes of it. */
  trying: <T>(work: Promise<T>) => Promise<T | undefined>;
}

const Context = createContext<Notices>({ say: () => {}, trying: (work) => work });
const LASTS = { calm: 4_000, bad: 10_000 };
let keys = 0;

export function NoticesProvider({ children }: { children: ReactNode }) {
  const words = useWords();
  const [all, setAll] = useState<Notice[]>([]);
  const drop = useCallback((key: number) => setAll((now) => now.filter((each) => each.key !== key)), []);
  const say = useCallback(
    (text: string, tone: Tone = "bad") => {
      keys += 1;
      const key = keys;
      setAll((now) => [...now.slice(-3), { key, text, tone }]);
      setTimeout(() => drop(key), LASTS[tone]);
    },
    [drop],
  );
  const trying = useCallback(
    async <T,>(work: Promise<T>): Promise<T | undefined> => {
      try {
        return await work;
      } catch (error) {
        const known = error instanceof TurnwireError ? words.refused[error.code] : undefined;
        const toDo = error instanceof TurnwireError && "whatToDo" in error ? ` ${error.whatToDo}` : "";
        say(known ?? `${(error as Error).message}${toDo}`);
        return undefined;
      }
    },
    [say, words],
  );
  const value = useMemo(() => ({ say, trying }), [say, trying]);
  return (
    <Context.Provider value={value}>
      {children}
      <div className="notices" role="status" aria-live="polite">
        {all.map((each) => (
          <div key={each.key} className={`notice ${each.tone}`}>
            <span>{each.text}</span>
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
