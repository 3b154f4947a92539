// A page that counts renderings. The test controls it through `window.page`.
import { memo, StrictMode, useLayoutEffect } from "react";
import { createRoot } from "react-dom/client";
import { Client, type MessageView } from "../../src/index.js";
import { TurnwireProvider, useConversation, useInbox } from "../../src/react.js";

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

const given = new URLSearchParams(location.search);
// For a page of another origin the test fetches tickets, as the page's own server would.
const ticket = (window as unknown as { ticket?: () => Promise<string> }).ticket;
const client = new Client(given.get("url") ?? location.origin, ticket ? { ticket } : {});
const root = createRoot(document.getElementById("root") as HTMLElement);

const page = {
  client,
  drawn,
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
