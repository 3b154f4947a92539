// The open requests of all conversations.
import type { InboxItem } from "@turnwire/client";
import { InboxList, useInbox } from "@turnwire/react";
import { useWords } from "../app/language";
import { linkTo } from "../app/navigation";
import { PageHeader } from "../app/PageHeader";
import { notifyChange } from "../app/serverChanges";
import { useInfo } from "../conversations/conversationList";
import { VisibleText } from "../markdown/VisibleText";
import { Permission } from "../requests/Permission";
import { QuestionForm } from "../requests/QuestionForm";
import { Empty } from "../talk/Empty";
import { ago } from "../words/times";

export function Inbox() {
  const words = useWords();
  const { isLoaded, error } = useInbox();
  return (
    <main className="page" id="main">
      <PageHeader title={words.inbox} />
      {!isLoaded && !error && [1, 2].map((each) => <div key={each} className="skeleton card-sized" />)}
      <InboxList
        className="cards"
        empty={<Empty title={words.nothingWaits} text={words.nothingWaitsHint} />}
        failed={() => (
          <p className="bad" role="alert">
            {words.inboxLost}
          </p>
        )}
        item={(item, place) => <InboxCard item={item} place={place} />}
      />
    </main>
  );
}

function InboxCard({ item, place }: { item: InboxItem & { title?: string }; place: number }) {
  const words = useWords();
  const inbox = useInbox();
  const { request } = item;
  const info = useInfo(item.conversation_id);
  const about = [info?.agent, item.created_at && ago(item.created_at, words)];
  /** The list of conversations shows that the request is gone, or was answered by another client. */
  const done = (work: Promise<unknown>) => work.finally(notifyChange);
  return (
    <>
      <p className="whose">
        <a {...linkTo({ name: "talk", id: item.conversation_id })}>
          <VisibleText text={item.title ?? words.untitled(info?.created_at)} />
        </a>
        <span className="muted">{about.filter(Boolean).join(" · ")}</span>
        {info?.cwd && (
          <span className="muted path" title={info.cwd}>
            <VisibleText text={info.cwd} />
          </span>
        )}
      </p>
      {request.kind === "question" ? (
        <QuestionForm
          conversation={item.conversation_id}
          request={request}
          role="group"
          answer={(_, answer) => done(inbox.answer(item, answer))}
        />
      ) : (
        <Permission
          conversation={item.conversation_id}
          request={request}
          role="group"
          decide={(_, decision, more) => done(inbox.decide(item, decision, more))}
          place={place}
        />
      )}
    </>
  );
}
