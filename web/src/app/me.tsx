// Who is signed in, and how the page calls people.
import { useTurnwire } from "@turnwire/react";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from "react";
import { useWords } from "./language";
import { useChanges } from "./serverChanges";

/** The answer to `GET /api/me`. */
export interface Me {
  name: string;
  is_owner: boolean;
  signed_in_by: "browser" | "token" | "application";
  token_name?: string;
  since?: string;
  until?: string;
}

const Context = createContext<Me | undefined>(undefined);

/** Asks the server who is signed in, until it answers. */
export function MeProvider({ children }: { children: ReactNode }) {
  const client = useTurnwire();
  const [me, setMe] = useState<Me>();
  const load = useCallback(() => {
    client.request<Me>("GET", "/api/me").then(setMe, () => {}); // the page itself shows that the server is gone
  }, [client]);
  useEffect(load, [load]);
  useChanges(load, me === undefined);
  return <Context.Provider value={me}>{children}</Context.Provider>;
}

/** Returns undefined until the server has answered, and for readers of a share link. */
export function useMe(): Me | undefined {
  return useContext(Context);
}

/** Returns the name of a user within a sentence: "you" for the reader. */
export type NameOf = (user: string) => string;

export function useNameOf(): NameOf {
  const words = useWords();
  const me = useMe()?.name;
  return useCallback(
    (user) => (user === me ? words.byYou : user === OWNER ? words.byOwner : user),
    [me, words],
  );
}

/** The name under which the log knows the owner of the server. */
const OWNER = "owner";
