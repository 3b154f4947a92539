// The page of a share link: one conversation, read-only, for people without an account.
import { Client, Refused } from "@turnwire/client";
import { TurnwireProvider } from "@turnwire/react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { loadSharedFiles } from "../app/files";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";
import { wholeDate } from "../words/times";
import { useLog } from "./archivedLog";
import { Empty } from "./Empty";
import type { MessageActions } from "./MessageActions";
import { Timeline } from "./Timeline";
import { useTitle } from "./tabTitle";

/** The answer to `GET /api/shared`. */
interface SharedInfo {
  title?: string;
  agent: string;
  expires_at: string;
}

/** Only copying is left: everything else needs an account. */
const ACTIONS: MessageActions = {};

export default function Shared({ secret }: { secret: string }) {
  const client = useMemo(() => new Client(document.baseURI.replace(/\/$/, ""), { token: secret }), [secret]);
  loadSharedFiles(secret); // before the pictures are rendered
  return (
    <TurnwireProvider client={client}>
      <Found client={client} />
    </TurnwireProvider>
  );
}

function Found({ client }: { client: Client }) {
  const words = useWords();
  const [info, setInfo] = useState<SharedInfo | "ended" | "failed">();
  const look = useCallback(async () => {
    try {
      setInfo(await client.request<SharedInfo>("GET", "/api/shared"));
    } catch (problem) {
      setInfo(problem instanceof Refused && !problem.retryable ? "ended" : "failed");
    }
  }, [client]);
  useEffect(() => void look(), [look]);
  if (info === undefined) return <main className="entry-page" id="main" />;
  if (typeof info !== "string") return <Conversation info={info} />;
  const isEnded = info === "ended";
  return (
    <main className="entry-page" id="main">
      <Empty
        isAll
        title={isEnded ? words.share.endedTitle : words.share.failedTitle}
        text={isEnded ? words.share.endedHint : words.share.failedHint}
      >
        {!isEnded && (
          <button type="button" onClick={() => void look()}>
            {words.tryAgain}
          </button>
        )}
      </Empty>
    </main>
  );
}

function Conversation({ info }: { info: SharedInfo }) {
  const words = useWords();
  const { view, loadOlder } = useLog("/api/shared");
  const name = info.title ?? words.share.shared;
  useTitle(name, undefined);
  return (
    <main className="talk archive shared" id="main">
      <header className="page-header">
        <h1>
          <VisibleText text={name} />
        </h1>
        <span className="muted">
          <VisibleText text={info.agent} />
        </span>
      </header>
      {view && (
        <Timeline
          id="shared"
          loadOlder={loadOlder}
          snapshot={{ view, unanswered: [], connection: "connected" }}
          startsAtBeginning={(view.first ?? 1) === 1}
          actions={ACTIONS}
        />
      )}
      <div className="dock">
        <div className="strip archived">
          <Icon name="link" />
          <p>{words.share.isRead(wholeDate(info.expires_at, words))}</p>
        </div>
      </div>
    </main>
  );
}
