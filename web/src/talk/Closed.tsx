// A conversation without a connection: archived, deleted, or of another user.
import { type ConversationInfo, Refused } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useActions } from "../app/actions";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { MenuButton } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { PageHeader } from "../app/PageHeader";
import { notifyChange, useChanges } from "../app/serverChanges";
import { deleteDrafts } from "../composer/drafts";
import { ConversationMenu } from "../conversations/ConversationMenu";
import { useConversationActions } from "../conversations/conversationActions";
import { useConversations } from "../conversations/conversationList";
import { nameOf, useOriginal } from "../conversations/forks";
import type { Subject } from "../inspect/Inspector";
import { AgentName } from "./AgentMark";
import { useLog } from "./archivedLog";
import { OPTIONS } from "./connectionOptions";
import { Inspector } from "./dialogs";
import { Empty } from "./Empty";
import { FindableTimeline } from "./FindableTimeline";
import { LoadingRows } from "./LoadingRows";
import type { MessageActions } from "./MessageActions";
import { messageAddress } from "./messageAddress";
import { PrintTitle } from "./PrintTitle";
import { useTitle } from "./tabTitle";

interface Props {
  id: string;
  at?: number | undefined;
  /** Whether it was shown before: then it was just archived or deleted. */
  wasHere: boolean;
}

/** Milliseconds before asking again: the deletion may still be running. */
const AGAIN = 500;

export function Closed({ id, at, wasHere }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const [info, setInfo] = useState<ConversationInfo | "gone">();
  const look = useCallback(async () => {
    try {
      setInfo(await client.request<ConversationInfo>("GET", `/api/conversations/${encodeURIComponent(id)}`));
    } catch (problem) {
      if (problem instanceof Refused && !problem.retryable) setInfo("gone"); // otherwise the next attempt asks again
    }
  }, [client, id]);
  useEffect(() => void look(), [look]);
  useChanges(look, true);

  // The conversation was restored from the archive: connect again.
  const isOpen = info !== undefined && info !== "gone" && !info.archived;
  useEffect(() => {
    if (!isOpen) return;
    const timer = setTimeout(() => {
      const conversation = client.conversation(id, OPTIONS);
      conversation.close();
      conversation.hold()(); // the component that shows it holds it
    }, AGAIN);
    return () => clearTimeout(timer);
  }, [client, id, isOpen]);

  const isDeleted = info === "gone" && wasHere;
  useEffect(() => {
    if (isDeleted) deleteDrafts(id);
  }, [id, isDeleted]);

  if (info === "gone")
    return (
      <main className="page" id="main">
        <PageHeader title={words.closedTitle} />
        <Empty
          title={wasHere ? words.deletedTitle : words.goneTitle}
          text={wasHere ? words.deletedHint : words.goneHint}
        />
      </main>
    );
  if (!info?.archived)
    return (
      <main className="page" id="main">
        <PageHeader title={words.connection.connecting} />
      </main>
    );
  return <Archived info={info} at={at} look={look} />;
}

/** An archived conversation: read-only. */
function Archived({ info, at, look }: { info: ConversationInfo; at?: number | undefined; look: () => void }) {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal } = useNotices();
  const { refresh } = useConversations();
  const { view, loadOlder } = useLog(`/api/conversations/${encodeURIComponent(info.id)}`);
  const [subject, setSubject] = useState<Subject>();
  const name = nameOf(info.title, info, useOriginal(info), words);
  useTitle(name, undefined);
  useActions("conversation", useConversationActions({ id: info.id, info, title: info.title, isHere: true }));
  const actions = useMemo<MessageActions>(
    () => ({
      inspect: (message, blockId) => setSubject({ message, blockId }),
      addressOf: (message, blockId) => messageAddress(client, info.id, message, blockId),
    }),
    [client, info.id],
  );
  const reopen = async () => {
    const path = `/api/conversations/${encodeURIComponent(info.id)}`;
    if ((await showingRefusal(client.request("PATCH", path, { archived: false }))) === undefined) return;
    notifyChange();
    look();
    await refresh();
  };
  return (
    <main className="talk archive" id="main">
      <PageHeader title={name}>
        <MenuButton label={words.more}>
          {(close) => <ConversationMenu id={info.id} info={info} title={info.title} isHere close={close} />}
        </MenuButton>
      </PageHeader>
      <PrintTitle title={name} agent={info.agent} at={info.created_at} />
      {view ? (
        <AgentName value={info.agent}>
          <FindableTimeline
            id={info.id}
            loadOlder={loadOlder}
            snapshot={{ view, unanswered: [], connection: "connected" }}
            at={at}
            actions={actions}
          />
        </AgentName>
      ) : (
        <div className="timeline">
          <LoadingRows />
        </div>
      )}
      <div className="dock">
        <div className="strip archived">
          <Icon name="archive" />
          <div>
            <h2>{words.archivedTitle}</h2>
            <p className="muted">{words.archivedHint}</p>
          </div>
          <button type="button" className="primary" onClick={() => void reopen()}>
            {words.reopen}
          </button>
        </div>
      </div>
      {subject && (
        <Inspector id={info.id} head={info.head} subject={subject} close={() => setSubject(undefined)} />
      )}
    </main>
  );
}
