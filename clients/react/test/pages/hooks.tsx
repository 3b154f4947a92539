// A page that counts renderings. The test controls it through `window.page`.

import { Client, type MessageView, type OpenRequest } from "@turnwire/client";
import { memo, StrictMode, useLayoutEffect } from "react";
import { createRoot } from "react-dom/client";
import {
  Conversation,
  Inbox as InboxComponent,
  Permission,
  Question,
  TurnwireProvider,
  useConversation,
  useConversations,
  useInbox,
  type Words,
} from "../../src/index.js";

const drawn: Record<string, number> = {};

function Counted({ name }: { name: string }) {
  useLayoutEffect(() => {
    drawn[name] = (drawn[name] ?? 0) + 1;
  });
  return null;
}

const Message = memo(({ message }: { message: MessageView }) => (
  <p data-id={message.id}>
    <Counted name={message.id} />
    {message.blocks.map((block) => (block.type === "text" ? block.text : "")).join("")}
  </p>
));

function Chat({ id }: { id: string }) {
  const { view, connection } = useConversation(id);
  return (
    <section>
      <Counted name="chat" />
      <output id="connection">{connection}</output>
      <output id="turns">{view.turns.length}</output>
      {view.messages.map((message) => (
        <Message key={message.id} message={message} />
      ))}
    </section>
  );
}

function Inbox() {
  const { items, answer, decide, isLoaded } = useInbox();
  return (
    <ul data-loaded={isLoaded}>
      {items.map((item) => (
        <li key={item.inbox_item_id}>
          <button
            type="button"
            onClick={() => (item.request.kind === "question" ? answer(item, "Blue") : decide(item, "allow"))}
          >
            {item.request.tool_name}
          </button>
        </li>
      ))}
    </ul>
  );
}

function List({ archived }: { archived: boolean }) {
  const { conversations, isLoaded, hasMore, loadMore } = useConversations({ archived });
  return (
    <nav data-loaded={isLoaded} data-archived={archived}>
      {conversations.map((each) => (
        <p key={each.id} id={`${archived ? "archived" : "listed"}-${each.id}`}>
          <Counted name={`row of ${each.id}`} />
          {each.title} {each.status.running ? "works" : "waits"}
        </p>
      ))}
      {hasMore && (
        <button type="button" onClick={() => void loadMore()}>
          More
        </button>
      )}
    </nav>
  );
}

const given = new URLSearchParams(location.search);
// For a page of another origin the test fetches tickets, as the page's own server would.
const ticket = (window as unknown as { ticket?: () => Promise<string> }).ticket;
const client = new Client(given.get("url") ?? location.origin, ticket ? { ticket } : {});
const root = createRoot(document.getElementById("root") as HTMLElement);

const bold = { text: (text: string) => <strong>{text}</strong> };

const page = {
  client,
  drawn,
  /** The answers of `showQuestion`. */
  answers: [] as unknown[],
  /** Shows the list of conversations, and that of the archive. */
  showList(): void {
    root.render(
      <TurnwireProvider client={client}>
        <List archived={false} />
        <List archived />
      </TurnwireProvider>,
    );
  },
  /** Shows a conversation with the components. */
  showConversation(id: string, tail?: number, words?: Partial<Words>): void {
    root.render(
      <TurnwireProvider client={client} words={words}>
        <Conversation id={id} render={bold} {...(tail === undefined ? {} : { tail })} />
      </TurnwireProvider>,
    );
  },
  /** Shows the inbox with the components. */
  showInbox(): void {
    root.render(
      <TurnwireProvider client={client}>
        <InboxComponent heading={(item) => <h2>{item.conversation_id}</h2>} />
      </TurnwireProvider>,
    );
  },
  /** Shows a question; its answers are kept, and the first one is refused. */
  showQuestion(request: OpenRequest): void {
    const answer = async (_: string, words: unknown) => {
      page.answers.push(words);
      if (page.answers.length === 1) throw new Error("Another client was quicker.");
    };
    root.render(<Question request={request} answer={answer} />);
  },
  /** The decisions of `showPermission`. */
  decisions: [] as unknown[][],
  /** Shows a permission; its decisions are kept. */
  showPermission(request: OpenRequest): void {
    const decide = async (...how: unknown[]) => void page.decisions.push(how);
    root.render(<Permission key={request.request_id} request={request} decide={decide} />);
  },
  /** Shows a number of components of the same conversation, and the inbox. */
  show(id: string, chats = 1, inbox = false): void {
    root.render(
      <StrictMode>
        <TurnwireProvider client={client}>
          {Array.from({ length: chats }, (_, at) => (
            <Chat key={at} id={id} />
          ))}
          {inbox && <Inbox />}
        </TurnwireProvider>
      </StrictMode>,
    );
  },
};

export type Page = typeof page;
(window as unknown as { page: Page }).page = page;
