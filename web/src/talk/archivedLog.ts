// The log of a conversation without a connection: loaded page by page, the newest first.
import { readFrame, type View, ViewReducer } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import { useEffect, useMemo, useState } from "react";
import { useNotices } from "../app/Notices";
import { OPTIONS } from "./connectionOptions";

/** The answer to `GET /api/conversations/{id}/messages`. */
interface Page {
  messages: { message_sequence: number | null; event: unknown }[];
}

export interface Log {
  /** Undefined until the first page is loaded. */
  view: View | undefined;
  loadOlder: () => Promise<boolean>;
}

export function useLog(id: string): Log {
  const client = useTurnwire();
  const { showRefusal } = useNotices();
  const [view, setView] = useState<View>();
  const loadOlder = useMemo(() => {
    const reducer = new ViewReducer();
    let loading: Promise<boolean> | undefined;
    let isRead = false;
    const load = async () => {
      if (isRead && reducer.first <= 1) return false;
      const before = isRead ? `&before=${reducer.first}` : "";
      const path = `/api/conversations/${encodeURIComponent(id)}/messages?limit=${OPTIONS.tail}${before}`;
      const { messages } = await client.request<Page>("GET", path);
      const first = messages.find((each) => each.message_sequence)?.message_sequence ?? 1;
      reducer.prepend(
        first,
        messages.map((each) => readFrame(each.event)),
      );
      isRead = true;
      setView(reducer.view());
      return messages.length > 0;
    };
    return () => {
      loading ??= load().finally(() => {
        loading = undefined;
      });
      return loading;
    };
  }, [client, id]);
  useEffect(() => {
    loadOlder().catch(showRefusal);
  }, [loadOlder, showRefusal]);
  return { view, loadOlder };
}
