// What can be done on the page now, for the command palette.
import { useEffect, useRef } from "react";
import type { IconName } from "./Icon";

export interface PageAction {
  name: string;
  label: string;
  icon: IconName;
  /** Its shortcut, to be shown. */
  keys?: string;
  run: () => void;
}

const offered = new Map<string, () => PageAction>();

/** Offers an action while the component is mounted. */
export function useAction(action: PageAction, isOn = true): void {
  const latest = useRef(action);
  latest.current = action;
  const { name } = action;
  useEffect(() => {
    if (!isOn) return;
    const current = () => latest.current;
    offered.set(name, current);
    return () => {
      if (offered.get(name) === current) offered.delete(name);
    };
  }, [name, isOn]);
}

export function offeredActions(): PageAction[] {
  return [...offered.values()].map((current) => current());
}
