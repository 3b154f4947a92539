// The log of a conversation without a connection: loaded page by page, the newest first.
import { readFrame, type View, ViewReducer } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { useEffect, useMemo, useState } from "react";
import { useNotices } from "../app/Notices";
import { OPTIONS } from "./connectionOptions";

/** The answer to `GET /api/conversations/{id}/messages`, or to `GET /api/shared/messages`. */
interface Page {
  messages: { message_sequence: number | null; event: unknown }[];
  /** The first entry of the page, if the page does not have all of its entries. */
  first?: number;
}

export interface Log {
  /** Undefined until the first page is loaded. */
  view: View | undefined;
  loadOlder: () => Promise<boolean>;
}

/** `of` is the path of what has the messages. */
export function useLog(of: string): Log {
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
      const page = await client.request<Page>("GET", `${of}/messages?limit=${OPTIONS.tail}${before}`);
      const { messages } = page;
      const first = page.first ?? messages.find((each) => each.message_sequence)?.message_sequence ?? 1;
      reducer.prepend(
        first,
        messages.map((each) => readFrame(each.event)),
      );
      isRead = true;
      setView(reducer.view());
      return messages.length > 0 || first > 1;
    };
    return () => {
      loading ??= load().finally(() => {
        loading = undefined;
      });
      return loading;
    };
  }, [client, of]);
  useEffect(() => {
    loadOlder().catch(showRefusal);
  }, [loadOlder, showRefusal]);
  return { view, loadOlder };
}
