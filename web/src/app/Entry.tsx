import { Empty } from "../talk/Empty";
import { useWords } from "./words";

/** Whoever is not known is told how to come in. */
export function Entry({ retry }: { retry: () => void }) {
  const words = useWords();
  return (
    <main className="entry-page" id="main">
      <Empty isAll title={words.notKnown} text={words.notKnownHint}>
        <pre>turnwire token link</pre>
        <button type="button" onClick={retry}>
          {words.tryAgain}
        </button>
      </Empty>
    </main>
  );
}
