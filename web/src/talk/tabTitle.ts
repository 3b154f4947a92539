import type { Status } from "@turnwire/client";
import { useEffect } from "react";

/** Sets the title of the tab: the name of the conversation, and whether it has open requests. */
export function useTitle(name: string, status: Status | undefined): void {
  const mark = status?.requests.length ? "● " : "";
  useEffect(() => {
    document.title = `${mark}${name} · Turnwire`;
    return () => {
      document.title = "Turnwire";
    };
  }, [name, mark]);
}
