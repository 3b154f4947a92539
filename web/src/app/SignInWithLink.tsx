import { type Client, Refused } from "@turnwire/client";
import { useEffect, useState } from "react";
import { useConversations } from "../conversations/conversationList";
import { Empty } from "../talk/Empty";
import { useWords } from "./language";
import { goTo } from "./navigation";
import { isSignedInByApplication, linkCommand } from "./signIn";

/** A link is used once, even if the component renders several times. */
const entering = new Map<string, Promise<void>>();

function enter(client: Client, link: string): Promise<void> {
  const begun = entering.get(link) ?? client.enter(link);
  entering.set(link, begun);
  return begun;
}

/** Signs a person in with a link, and shows the start page. */
export function SignInWithLink({ client, link }: { client: Client; link: string }) {
  const words = useWords();
  const { isKnown, refresh } = useConversations();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    enter(client, link)
      .then(refresh)
      .then(() => goTo({ name: "home" }, "replace"))
      .catch((error) => {
        entering.delete(link);
        const isUsed = error instanceof Refused && error.code === "FORBIDDEN";
        const hint = isSignedInByApplication() ? words.linkUsedByGuest : words.linkUsedHint;
        setProblem(isUsed ? hint : String(error.message));
      });
  }, [client, link, refresh, words]);
  const isInAlready = problem !== undefined && isKnown === true;
  useEffect(() => {
    if (isInAlready) goTo({ name: "home" }, "replace");
  }, [isInAlready]);
  if (problem === undefined || isKnown !== false) return null;
  return (
    <main className="entry-page" id="main">
      <Empty isAll title={words.linkUsed} text={problem}>
        {!isSignedInByApplication() && <pre>{linkCommand()}</pre>}
      </Empty>
    </main>
  );
}
