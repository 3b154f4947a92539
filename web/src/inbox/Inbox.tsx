// Everything that waits for a person, in all conversations.
import type { InboxItem } from "@turnwire/client";
import { useInbox } from "@turnwire/client/react";
import { Permission } from "../acting/Permission";
import { QuestionForm } from "../acting/QuestionForm";
import { tellChange } from "../app/changes";
import { useNotices } from "../app/Notices";
import { PageHeader } from "../app/PageHeader";
import { linkTo } from "../app/places";
import { useWords } from "../app/words";
import { Unseen } from "../markdown/Unseen";
import { Empty } from "../talk/Empty";
import { ago } from "../words/times";

export function Inbox() {
  const words = useWords();
  const { items, isLoaded, error } = useInbox();
  return (
    <main className="page" id="main">
      <PageHeader title={words.inbox} />
      {error && (
        <p className="bad" role="alert">
          {words.line.lost}
        </p>
      )}
      {isLoaded && !items.length && <Empty title={words.nothingWaits} text={words.nothingWaitsHint} />}
      <ul className="cards">
        {items.map((item, at) => (
          <li key={item.inbox_item_id}>
            <InboxCard item={item} hasKeys={at === 0} />
          </li>
        ))}
      </ul>
    </main>
  );
}

function InboxCard({ item, hasKeys }: { item: InboxItem & { title?: string }; hasKeys: boolean }) {
  const words = useWords();
  const inbox = useInbox();
  const { trying } = useNotices();
  const { request } = item;
  const done = async (work: Promise<unknown>) => {
    await trying(work);
    tellChange();
  };
  return (
    <>
      <p className="whose">
        <a {...linkTo({ name: "talk", id: item.conversation_id })}>
          <Unseen text={item.title ?? words.untitled} />
        </a>
        {item.created_at && <span className="muted">· {ago(item.created_at, words)}</span>}
      </p>
      {request.kind === "question" ? (
        <QuestionForm request={request} role="group" answer={(answer) => done(inbox.answer(item, answer))} />
      ) : (
        <Permission
          request={request}
          role="group"
          decide={(decision, more) => done(inbox.decide(item, decision, more))}
          hasKeys={hasKeys}
        />
      )}
    </>
  );
}
