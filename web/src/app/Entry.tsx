import { Empty } from "../talk/Empty";
import { isOfApplication, linkCommand } from "./guests";
import { useWords } from "./words";

/** Tells a person who is not signed in how to sign in. */
export function Entry({ retry }: { retry: () => void }) {
  const words = useWords();
  const isGuest = isOfApplication();
  return (
    <main className="entry-page" id="main">
      <Empty
        isAll
        title={isGuest ? words.notSignedIn : words.notKnown}
        text={isGuest ? words.notSignedInHint : words.notKnownHint}
      >
        {!isGuest && <pre>{linkCommand()}</pre>}
        <button type="button" onClick={retry}>
          {words.tryAgain}
        </button>
      </Empty>
    </main>
  );
}
