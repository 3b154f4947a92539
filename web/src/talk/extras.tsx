// Parts of a conversation that are loaded after it, and without which it works as well.
import type { ComponentType } from "react";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { onDemand } from "../app/onDemand";

/** Returns a component that shows nothing if it cannot be loaded. */
function extra<P extends object>(load: () => Promise<ComponentType<P>>) {
  const Loaded = onDemand(load);
  return (props: P) => (
    <ErrorBoundary instead={nothing}>
      <Loaded {...props} />
    </ErrorBoundary>
  );
}

const nothing = () => null;

export const ContextGauge = extra(async () => (await import("../composer/ContextGauge")).ContextGauge);
export const MessageRail = extra(async () => (await import("./MessageRail")).MessageRail);
