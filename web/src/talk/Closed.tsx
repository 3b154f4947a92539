import { useTurnwire } from "@turnwire/client/react";
import { tellChange } from "../app/changes";
import { MenuButton } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { PageHeader } from "../app/PageHeader";
import { useWords } from "../app/words";
import { useConversations } from "../conversations/store";
import { TalkMenu } from "../conversations/TalkMenu";
import { Empty } from "./Empty";
import { OPTIONS } from "./options";

/** A conversation that nobody can connect to: archived, deleted, or somebody else's. */
export function Closed({
  id,
  code,
  message,
}: {
  id: string;
  code?: string | undefined;
  message?: string | undefined;
}) {
  const words = useWords();
  const client = useTurnwire();
  const { trying } = useNotices();
  const { all, refresh } = useConversations();
  const title = all.find((each) => each.id === id)?.title ?? undefined;
  const isArchived = code === "CONVERSATION_CLOSED" || all.some((each) => each.id === id && each.archived);
  const reopen = async () => {
    const path = `/api/conversations/${encodeURIComponent(id)}`;
    if ((await trying(client.request("PATCH", path, { archived: false }))) === undefined) return;
    const conversation = client.conversation(id, OPTIONS);
    conversation.close(); // it may connect again
    conversation.hold();
    tellChange();
    await refresh();
  };
  return (
    <main className="page" id="main">
      <PageHeader title={title ?? words.closedTitle}>
        {isArchived && (
          <MenuButton label={words.more}>
            {(close) => <TalkMenu id={id} archived title={title} close={close} />}
          </MenuButton>
        )}
      </PageHeader>
      <Empty
        title={isArchived ? words.archivedTitle : words.goneTitle}
        text={isArchived ? words.archivedHint : (message ?? words.line.closed)}
      >
        {isArchived && (
          <button type="button" className="primary" onClick={() => void reopen()}>
            {words.reopen}
          </button>
        )}
      </Empty>
    </main>
  );
}
