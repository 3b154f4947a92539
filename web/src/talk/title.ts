import type { Status } from "@turnwire/client";
import { useEffect } from "react";

/** The tab says what the conversation is about, and whether it waits for somebody. */
export function useTitle(name: string, status: Status | undefined): void {
  const mark = status?.requests.length ? "● " : "";
  useEffect(() => {
    document.title = `${mark}${name} · Turnwire`;
    return () => {
      document.title = "Turnwire";
    };
  }, [name, mark]);
}
