import type { Status } from "@turnwire/client";
import { useEffect } from "react";
import type { Words } from "../words/en";

/** The tab says what the conversation is about, and whether it waits for somebody. */
export function useTitle(title: string | undefined, status: Status | undefined, words: Words): void {
  const name = title ?? words.untitled;
  const mark = status?.requests.length ? "● " : "";
  useEffect(() => {
    document.title = `${mark}${name} · Turnwire`;
    return () => {
      document.title = "Turnwire";
    };
  }, [name, mark]);
}
