// Search in the messages of all conversations.
import { useTurnwire } from "@turnwire/react";
import { useEffect, useState } from "react";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { linkTo } from "../app/navigation";
import { PageHeader } from "../app/PageHeader";
import { VisibleText } from "../markdown/VisibleText";
import { Empty } from "../talk/Empty";
import { ago } from "../words/times";

interface Hit {
  conversation_id: string;
  sequence: number;
  title: string | null;
  snippet: string;
  timestamp: string;
}

export function Search({ words: sought }: { words: string }) {
  const words = useWords();
  const client = useTurnwire();
  const { reasonOf } = useNotices();
  const [hits, setHits] = useState<Hit[]>();
  const [problem, setProblem] = useState<unknown>();
  const [times, setTimes] = useState(0);
  useEffect(() => {
    setHits(undefined);
    setProblem(undefined);
    if (!sought) return;
    let isGone = false;
    client
      .request<{ hits: Hit[] }>("GET", `/api/search?q=${encodeURIComponent(sought)}&limit=100`)
      .then((told) => isGone || setHits(told.hits))
      .catch((problem: unknown) => isGone || setProblem(problem));
    return () => {
      isGone = true;
    };
  }, [client, sought, times]);
  return (
    <main className="page" id="main">
      <PageHeader title={sought ? words.searchFor(sought) : words.search} />
      <p className="muted found" role="status">
        {hits && hits.length > 0 && words.hits(hits.length)}
      </p>
      {problem !== undefined && (
        <div className="refused" role="alert">
          <p className="bad">{reasonOf(problem)}</p>
          <button type="button" onClick={() => setTimes(times + 1)}>
            {words.tryAgain}
          </button>
        </div>
      )}
      {!sought && <Empty title={words.search} text={words.searchHint} />}
      <div role="status">
        {hits && !hits.length && <Empty title={words.noHits} text={words.noHitsHint} />}
      </div>
      {sought && !hits && problem === undefined && (
        <div aria-hidden="true">
          {[1, 2, 3].map((each) => (
            <div key={each} className="skeleton" />
          ))}
        </div>
      )}
      <ul className="hits">
        {hits?.map((hit) => (
          <li key={`${hit.conversation_id}/${hit.sequence}`}>
            <a {...linkTo({ name: "talk", id: hit.conversation_id, at: hit.sequence })}>
              <span className="head">
                <strong>
                  <VisibleText text={hit.title ?? words.untitled()} />
                </strong>
                <small>{ago(hit.timestamp, words)}</small>
              </span>
              <p>
                <Marked snippet={hit.snippet} />
              </p>
            </a>
          </li>
        ))}
      </ul>
    </main>
  );
}

/** The server marks matches with U+0002 and U+0003. */
function Marked({ snippet }: { snippet: string }) {
  return snippet.split("\u0002").map((part, at) => {
    const [found, rest] = at ? part.split("\u0003", 2) : [undefined, part];
    return (
      <span key={at}>
        {found !== undefined && (
          <mark>
            <VisibleText text={found} />
          </mark>
        )}
        <VisibleText text={rest ?? ""} />
      </span>
    );
  });
}
