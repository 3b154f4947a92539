// Counts the forms of permissions that are open: a decision on all of them must not skip what a person writes.
import { createContext, useCallback, useContext, useEffect, useMemo, useState } from "react";

export interface OpenForms {
  readonly count: number;
  /** Adds a form. Returns a function that removes it. */
  readonly add: () => () => void;
}

export const OpenFormsContext = /* @__PURE__ */ createContext<OpenForms | undefined>(undefined);

export function useOpenForms(): OpenForms {
  const [count, setCount] = useState(0);
  const add = useCallback(() => {
    setCount((now) => now + 1);
    return () => setCount((now) => now - 1);
  }, []);
  return useMemo(() => ({ count, add }), [count, add]);
}

/** Counts a form while it is open. */
export function useCountedForm(isOpen: boolean): void {
  const add = useContext(OpenFormsContext)?.add;
  useEffect(() => (isOpen ? add?.() : undefined), [isOpen, add]);
}
