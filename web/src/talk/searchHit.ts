// The entry of a search result, and its row.
import { useTurnwire } from "@turnwire/react";
import { createContext, useEffect, useState } from "react";
import type { Entry, RowPosition } from "./rows";

/** For the rows: a folded row opens if it contains the match. */
export const SearchHit = createContext<RowPosition | undefined>(undefined);

interface Told {
  frame: {
    payload: { block_id?: string; tool_use_id?: string; question_id?: string; request_id?: string };
  };
}

/**
 * Returns what the server knows of this entry: a message has several, and a result is in the card
 * of its call.
 */
export function useSearchedEntry(id: string, at: number | undefined): Entry | undefined {
  const client = useTurnwire();
  const [entry, setEntry] = useState<Entry>();
  useEffect(() => {
    if (at === undefined) return;
    let isGone = false;
    const tell = (ids: Entry["ids"]) => {
      if (!isGone) setEntry({ number: at, ids });
    };
    client.request<Told>("GET", `/api/conversations/${encodeURIComponent(id)}/messages/${at}`).then(
      ({ frame: { payload } }) =>
        tell([payload.block_id, payload.tool_use_id, payload.question_id, payload.request_id]),
      () => tell([]), // then only the number is used
    );
    return () => {
      isGone = true;
    };
  }, [client, id, at]);
  return entry;
}
