// Pictures and files that go back into the composer of a conversation: those of a message that is edited.
import { useEffect, useRef } from "react";

const waiting = new Map<string, File[]>();

/** Keeps files until the composer of the conversation is shown. */
export function returnFiles(id: string, files: File[]): void {
  if (files.length) waiting.set(id, files);
}

/** Receives such files. `take` is undefined until it is known what the agent takes. */
export function useReturnedFiles(id: string, take: ((files: File[]) => void) | undefined): void {
  const latest = useRef(take);
  latest.current = take;
  const isKnown = take !== undefined;
  useEffect(() => {
    const files = waiting.get(id);
    if (!isKnown || files === undefined) return;
    waiting.delete(id);
    latest.current?.(files);
  }, [id, isKnown]);
}
