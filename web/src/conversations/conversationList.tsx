// The list of conversations, kept up to date for the whole page.
import { type ConversationInfo, Refused } from "@turnwire/client";
import { useConversations as useList, useTurnwire } from "@turnwire/react";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { notifyChange, useChanges, usePolling } from "../app/serverChanges";
import { ACTIVITIES, type Filters, known } from "./filters";

interface Conversations {
  /** In the order of the list: pinned ones first. */
  all: readonly ConversationInfo[];
  isLoaded: boolean;
  /** Whether the user is signed in; undefined: not asked yet. */
  isKnown: boolean | undefined;
  showsArchived: boolean;
  setShowsArchived: (to: boolean) => void;
  filters: Filters;
  setFilters: (to: Filters) => void;
  /** The agents and labels that the page has seen. */
  choices: { agents: string[]; labels: string[] };
  hasMore: boolean;
  more: () => void;
  refresh: () => Promise<void>;
}

const Context = createContext<Conversations | undefined>(undefined);

export function ConversationsProvider({ children }: { children: ReactNode }) {
  const [showsArchived, setShowsArchived] = useState(false);
  const [filters, setFilters] = useState<Filters>({});
  const [choices, setChoices] = useState({ agents: [] as string[], labels: [] as string[] });
  const { agent, label, state } = filters;
  const activity = state && ACTIVITIES[state];
  const list = useList({ archived: showsArchived, agent, label, activity });
  const { error, refresh, loadMore } = list;
  const [shown, setShown] = useState(list); // the list before, until the one with new filters is loaded
  if (list.isLoaded && list !== shown) setShown(list);
  const { isLoaded, conversations: all, hasMore } = list.isLoaded ? list : shown;
  const [isKnown, setKnown] = useState<boolean>();
  const isSignedOut = error instanceof Refused && error.code === "UNAUTHORIZED";
  const isKnownNow = isSignedOut ? false : list.isLoaded && !error ? true : isKnown;
  if (isKnownNow !== isKnown) setKnown(isKnownNow);

  useEffect(() => {
    if (isKnown) notifyChange(); // a person who has just signed in need not wait for the stream of changes
  }, [isKnown]);
  useEffect(() => setChoices((before) => known(before, all)), [all]);
  usePolling(refresh, isKnown === true);

  const value = useMemo(
    () => ({
      all,
      isLoaded,
      isKnown,
      showsArchived,
      setShowsArchived,
      filters,
      setFilters,
      choices,
      hasMore,
      more: () => void loadMore(),
      refresh,
    }),
    [all, isLoaded, isKnown, showsArchived, filters, choices, hasMore, loadMore, refresh],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function useConversations(): Conversations {
  const found = useContext(Context);
  if (!found) throw new Error("There is no ConversationsProvider.");
  return found;
}

/**
 * Returns what the server knows of a conversation, even if it is not in the list. Undefined without
 * an id. `isLive`: it is kept up to date also then.
 */
export function useInfo(id: string | undefined, isLive = false): ConversationInfo | undefined {
  const client = useTurnwire();
  const { all, isLoaded } = useConversations();
  const listed = all.find((each) => each.id === id);
  const [asked, setAsked] = useState<ConversationInfo>();
  const isMissing = isLoaded && listed === undefined;
  const [changes, setChanges] = useState(0);
  useChanges(() => setChanges((before) => before + 1), isLive && isMissing);
  useEffect(() => {
    if (!isMissing || id === undefined) return;
    let isGone = false;
    client.request<ConversationInfo>("GET", `/api/conversations/${encodeURIComponent(id)}`).then(
      (told) => {
        if (!isGone) setAsked(told);
      },
      () => {}, // the view of the conversation shows the error
    );
    return () => {
      isGone = true;
    };
  }, [client, id, isMissing, changes]);
  return listed ?? (asked?.id === id ? asked : undefined);
}
