// Parts of the page that its first view does not need. They are loaded after it, before they are
// needed, so that they open at once, and also after the connection was lost.
import { type ComponentType, type ReactNode, useEffect, useState } from "react";
import { useWords } from "./language";
import { useNotices } from "./Notices";

const parts = new Set<() => Promise<unknown>>();

interface Extra {
  /** Shown until the part is loaded. */
  meanwhile?: ReactNode;
}

/**
 * Returns a component that loads the real one. Unlike `lazy` it renders a loaded part at once,
 * without a frame in between, and it tries again after a failure, each time it is opened.
 */
export function onDemand<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P & Extra> {
  let Loaded: ComponentType<P> | undefined;
  const prepare = async () => {
    Loaded ??= await load();
  };
  parts.add(prepare);
  return function OnDemand({ meanwhile, ...props }: P & Extra) {
    const words = useWords();
    const { showNotice } = useNotices();
    const [problem, setProblem] = useState<unknown>();
    const [, setReady] = useState(Loaded !== undefined);
    const isMissing = Loaded === undefined;
    const { close } = props as { close?: () => void };
    useEffect(() => {
      if (!isMissing) return;
      let isGone = false;
      prepare().then(
        () => isGone || setReady(true),
        (reason: unknown) => {
          if (isGone) return;
          if (close === undefined) return setProblem(reason ?? new Error(words.partMissing));
          showNotice(words.partMissing);
          close();
        },
      );
      return () => {
        isGone = true;
      };
    }, [isMissing, close, showNotice, words]);
    if (problem !== undefined) throw problem; // the error boundary shows it in its place
    return Loaded === undefined ? meanwhile : <Loaded {...(props as unknown as P)} />;
  };
}

/** Calls back as soon as the browser has nothing else to do. */
export function whenIdle(run: () => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(run, { timeout: 5_000 });
  else setTimeout(run, 1_000);
}

/** Loads all parts, one after the other. A part that cannot be loaded is loaded when it is opened. */
export async function loadAhead(): Promise<void> {
  for (const prepare of parts) {
    await new Promise<void>(whenIdle);
    await prepare().catch(() => {});
  }
}
