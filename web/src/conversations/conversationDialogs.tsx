// The dialogs of one conversation, which any menu can open: its labels, its remembered permission
// rules, and its share links. Each is loaded when it is needed.
import { useSyncExternalStore } from "react";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { onDemand } from "../app/onDemand";

const DIALOGS = {
  labels: onDemand(async () => (await import("./Labels")).default),
  rules: onDemand(async () => (await import("./Rules")).default),
  shares: onDemand(async () => (await import("./Shares")).default),
};
const listeners = new Set<() => void>();
let open: { which: keyof typeof DIALOGS; id: string } | undefined;

/** Opens a dialog of a conversation. */
export function showDialog(which: keyof typeof DIALOGS, id: string): void {
  show({ which, id });
}

function show(wanted: typeof open): void {
  open = wanted;
  for (const listener of [...listeners]) listener();
}

/** The place of the open dialog on the page. */
export function ConversationDialog() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => open,
  );
  if (shown === undefined) return null;
  const Shown = DIALOGS[shown.which];
  return (
    <ErrorBoundary instead={() => null}>
      <Shown key={shown.id} id={shown.id} close={() => show(undefined)} />
    </ErrorBoundary>
  );
}
