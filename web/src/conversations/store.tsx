// The list of conversations, kept up to date for the whole page.
import type { ConversationInfo } from "@turnwire/client";
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
import { useChanges } from "../app/changes";

interface Conversations {
  all: ConversationInfo[];
  isLoaded: boolean;
  /** Whether the server knows who is here; undefined: not asked yet. */
  isKnown: boolean | undefined;
  showsArchived: boolean;
  setShowsArchived: (to: boolean) => void;
  hasMore: boolean;
  more: () => void;
  refresh: () => Promise<void>;
}

const PAGE = 50;
const Context = createContext<Conversations | undefined>(undefined);

export function ConversationsProvider({ children }: { children: ReactNode }) {
  const client = useTurnwire();
  const [all, setAll] = useState<ConversationInfo[]>([]);
  const [isLoaded, setLoaded] = useState(false);
  const [isKnown, setKnown] = useState<boolean>();
  const [showsArchived, setShowsArchived] = useState(false);
  const [limit, setLimit] = useState(PAGE);
  const asked = useRef(0);

  const refresh = useCallback(async () => {
    asked.current += 1;
    const round = asked.current;
    try {
      const path = `/api/conversations?limit=${limit}&archived=${showsArchived}`;
      const { conversations } = await client.request<{ conversations: ConversationInfo[] }>("GET", path);
      if (round !== asked.current) return; // a later one is on its way
      setAll(conversations);
      setLoaded(true);
      setKnown(true);
    } catch (error) {
      if (error instanceof Refused && error.code === "UNAUTHORIZED") setKnown(false);
    }
  }, [client, limit, showsArchived]);

  useEffect(() => void refresh(), [refresh]);
  useChanges(refresh, isKnown === true);

  const value = useMemo(
    () => ({
      all,
      isLoaded,
      isKnown,
      showsArchived,
      setShowsArchived,
      hasMore: all.length >= limit,
      more: () => setLimit((now) => Math.min(now + PAGE, 500)),
      refresh,
    }),
    [all, isLoaded, isKnown, showsArchived, limit, refresh],
  );
  return <Context.Provider value={value}>{children}</Context.Provider>;
}

export function useConversations(): Conversations {
  const found = useContext(Context);
  if (!found) throw new Error("There is no ConversationsProvider.");
  return found;
}
