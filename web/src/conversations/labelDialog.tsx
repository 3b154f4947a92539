// The dialog for the labels of a conversation, which any menu can open. Loaded when it is needed.
import { lazy, Suspense, useSyncExternalStore } from "react";

const Labels = lazy(() => import("./Labels"));
const listeners = new Set<() => void>();
let open: string | undefined;

/** Opens the dialog for a conversation; undefined closes it. */
export function showLabels(id: string | undefined): void {
  open = id;
  for (const listener of [...listeners]) listener();
}

/** The place of the dialog on the page. */
export function LabelDialog() {
  const id = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => open,
  );
  if (id === undefined) return null;
  return (
    <Suspense>
      <Labels key={id} id={id} close={() => showLabels(undefined)} />
    </Suspense>
  );
}
