// What can be done on the page now, for the command palette.
import { useEffect, useRef } from "react";
import type { IconName } from "./Icon";
import type { Shortcut } from "./shortcuts";

export interface PageAction {
  name: string;
  label: string;
  icon: IconName;
  /** Whose key is shown. */
  shortcut?: Shortcut;
  run: () => void;
}

const offered = new Map<string, () => readonly PageAction[]>();

/** Offers an action while the component is mounted. */
export function useAction(action: PageAction, isOn = true): void {
  useActions(action.name, isOn ? [action] : []);
}

/** Offers actions while the component is mounted. `name`: of all of them together. */
export function useActions(name: string, actions: readonly PageAction[]): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const current = () => latest.current;
    offered.set(name, current);
    return () => {
      if (offered.get(name) === current) offered.delete(name);
    };
  }, [name]);
}

export function offeredActions(): PageAction[] {
  return [...offered.values()].flatMap((current) => current());
}
