// The account of the user: the name, how it was signed in, and signing out.
import { useTurnwire } from "@turnwire/react";
import { useConversations } from "../conversations/conversationList";
import { VisibleText } from "../markdown/VisibleText";
import { wholeTime } from "../words/times";
import { deleteStored } from "./browserStorage";
import { useWords } from "./language";
import { useMe } from "./me";
import { useNotices } from "./Notices";
import { notifyChange } from "./serverChanges";
import { isSignedInByApplication, loginAddress, logoutAddress } from "./signIn";

/** What stays in the browser after signing out: it says nothing about the user. */
const KEPT = ["theme", "language", "keys"];

export function Account() {
  const words = useWords();
  const client = useTurnwire();
  const { refresh } = useConversations();
  const { showingRefusal } = useNotices();
  const me = useMe();

  const signOut = async () => {
    const done = await showingRefusal(client.request("POST", "/api/sign-out").then(() => true));
    if (!done) return;
    client.close();
    deleteStored(KEPT);
    notifyChange(); // the other tabs look again, and are signed out
    const login = isSignedInByApplication() ? loginAddress() : undefined;
    if (login) location.assign(login);
    else await refresh();
  };
  const logout = logoutAddress();
  if (!me) return null;
  const lines = [
    [words.account.name, me.is_owner ? words.account.owner : me.name],
    [words.account.rights, me.is_owner ? words.account.ownerRights : words.account.userRights],
    [words.account.signedIn, words.account.by[me.signed_in_by](me.token_name ?? "")],
    [words.account.since, me.since && wholeTime(me.since, words)],
    [words.account.until, me.until && wholeTime(me.until, words)],
  ].filter(([, value]) => value);
  return (
    <section className="account">
      <h2>{words.account.title}</h2>
      <dl>
        {lines.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <VisibleText text={value ?? ""} />
            </dd>
          </div>
        ))}
      </dl>
      {me.signed_in_by === "browser" && (
        <>
          <button type="button" onClick={() => void signOut()}>
            {words.account.signOut}
          </button>
          <p className="muted">{words.account.signOutHint}</p>
        </>
      )}
      {me.signed_in_by === "application" && logout && (
        <a className="button" href={logout}>
          {words.account.signOut}
        </a>
      )}
    </section>
  );
}
