import { useEffect } from "react";
import { Empty } from "../talk/Empty";
import { useWords } from "./language";
import { isSignedInByApplication, linkCommand, loginAddress, sendToLogin } from "./signIn";

/** Tells a person who is not signed in how to sign in. */
export function NotSignedIn({ retry }: { retry: () => void }) {
  const words = useWords();
  const isGuest = isSignedInByApplication();
  const login = loginAddress();
  useEffect(() => {
    if (isGuest) sendToLogin();
  }, [isGuest]);
  return (
    <main className="entry-page" id="main">
      <Empty
        isAll
        title={isGuest ? words.notSignedIn : words.signInNeeded}
        text={isGuest ? words.notSignedInHint : words.signInNeededHint}
      >
        {!isGuest && <pre>{linkCommand()}</pre>}
        {isGuest && login && (
          <a className="button primary" href={login}>
            {words.signIn}
          </a>
        )}
        <button type="button" onClick={retry}>
          {words.tryAgain}
        </button>
      </Empty>
    </main>
  );
}
