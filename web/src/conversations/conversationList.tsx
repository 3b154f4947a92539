// The list of conversations, kept up to date for the whole page.
import type { Client, ConversationInfo } from "@turnwire/client";
import { Refused } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { useChanges } from "../app/serverChanges";
import { type Filters, known, queryOf } from "./filters";

interface Conversations {
  /** In the order of the list: pinned ones first. */
  all: ConversationInfo[];
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

const PAGE = 50;
/** The maximum page size of the server. */
const AT_ONCE = 500;
const Context = createContext<Conversations | undefined>(undefined);

/** Returns the newest conversations up to a limit, in several requests if needed. */
async function listed(client: Client, limit: number, query: string): Promise<ConversationInfo[]> {
  const all = new Map<string, ConversationInfo>(); // a conversation may move between two requests
  for (let offset = 0; offset < limit; offset += AT_ONCE) {
    const size = Math.min(AT_ONCE, limit - offset);
    const path = `/api/conversations?limit=${size}&offset=${offset}${query}`;
    const { conversations } = await client.request<{ conversations: ConversationInfo[] }>("GET", path);
    for (const each of conversations) if (!all.has(each.id)) all.set(each.id, each);
    if (conversations.length < size) break;
  }
  // A pinned conversation may be older than all of these.
  const isWhole = all.size < limit;
  const { conversations: pinned } = isWhole
    ? { conversations: [] }
    : await client.request<{ conversations: ConversationInfo[] }>(
        "GET",
        `/api/conversations?limit=${AT_ONCE}&pinned=true${query}`,
      );
  for (const each of pinned) all.set(each.id, each);
  const rows = [...all.values()].sort(
    (one, other) => Date.parse(other.updated_at) - Date.parse(one.updated_at),
  );
  return [...rows.filter((each) => each.pinned), ...rows.filter((each) => !each.pinned)];
}

export function ConversationsProvider({ children }: { children: ReactNode }) {
  const client = useTurnwire();
  const [all, setAll] = useState<ConversationInfo[]>([]);
  const [isLoaded, setLoaded] = useState(false);
  const [isKnown, setKnown] = useState<boolean>();
  const [showsArchived, setShowsArchived] = useState(false);
  const [filters, setFilters] = useState<Filters>({});
  const [choices, setChoices] = useState({ agents: [] as string[], labels: [] as string[] });
  const [limit, setLimit] = useState(PAGE);
  const asked = useRef(0);

  const refresh = useCallback(async () => {
    asked.current += 1;
    const round = asked.current;
    try {
      const query = `&archived=${showsArchived}${queryOf(filters)}`;
      const conversations = await listed(client, limit, query);
      if (round !== asked.current) return; // a later request is running
      setChoices((before) => known(before, conversations));
      setAll(conversations);
      setLoaded(true);
      setKnown(true);
    } catch (error) {
      // A request from before signing in may be refused afterwards.
      const isLast = round === asked.current;
      if (isLast && error instanceof Refused && error.code === "UNAUTHORIZED") setKnown(false);
    }
  }, [client, limit, showsArchived, filters]);

  useEffect(() => void refresh(), [refresh]);
  useChanges(refresh, isKnown === true);

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
      hasMore: all.length >= limit,
      more: () => setLimit((now) => now + PAGE),
      refresh,
    }),
    [all, isLoaded, isKnown, showsArchived, filters, choices, limit, refresh],
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
 * an id.
 */
export function useInfo(id: string | undefined): ConversationInfo | undefined {
  const client = useTurnwire();
  const { all, isLoaded } = useConversations();
  const listed = all.find((each) => each.id === id);
  const [asked, setAsked] = useState<ConversationInfo>();
  const isMissing = isLoaded && listed === undefined;
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
  }, [client, id, isMissing]);
  return listed ?? (asked?.id === id ? asked : undefined);
}
