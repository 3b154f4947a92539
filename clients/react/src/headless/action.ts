// A command of a component: whether it runs, and why it was refused.
import { useCallback, useRef, useState } from "react";

export interface Action {
  /** Runs a command, unless one runs already. Resolves to whether it succeeded. */
  readonly run: (command: () => Promise<unknown>) => Promise<boolean>;
  readonly isBusy: boolean;
  /** What the server has said to the last command, if it refused it. */
  readonly refusal: string | undefined;
}

/** Is called with the error of each refused command, for a page that shows it in its own way. */
export type OnRefused = (problem: unknown) => void;

export function useAction(onRefused?: OnRefused): Action {
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const busy = useRef(false); // two clicks may come before the next rendering
  const refused = useRef(onRefused);
  refused.current = onRefused;
  const run = useCallback(async (command: () => Promise<unknown>) => {
    if (busy.current) return false;
    busy.current = true;
    setBusy(true);
    setRefusal(undefined);
    try {
      await command();
      return true;
    } catch (problem) {
      setRefusal(problem instanceof Error ? problem.message : String(problem));
      refused.current?.(problem);
      return false;
    } finally {
      busy.current = false;
      setBusy(false);
    }
  }, []);
  return { run, isBusy, refusal };
}
