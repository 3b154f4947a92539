// The components of @turnwire/react: /components.html?state=ID, with their style sheet: &styled
import { Client } from "@turnwire/client";
import { Conversation, Conversations, Inbox, TurnwireProvider } from "@turnwire/react";
import { createRoot } from "react-dom/client";
import { replaceServer } from "./server";
import { STATES } from "./states";

replaceServer();
const query = new URLSearchParams(location.search);
const chosen = query.get("state");
const isStyled = query.has("styled");
if (isStyled) await import("./styled");

/** The states that are no conversation. */
const OTHERS = [
  { id: "inbox", title: "Inbox", show: () => <Inbox /> },
  {
    id: "conversations",
    title: "Conversations",
    show: () => <Conversations href={addressOf} current="inbox" />,
  },
];
const other = OTHERS.find(({ id }) => id === chosen);

function addressOf(id: string): string {
  return `?state=${id}${isStyled ? "&styled" : ""}`;
}

const client = new Client(location.origin);

createRoot(document.getElementById("page") as HTMLElement).render(
  <TurnwireProvider client={client}>
    <main>
      <h1>{[...OTHERS, ...STATES].find(({ id }) => id === chosen)?.title ?? "Components"}</h1>
      {chosen === null && (
        <>
          <p>
            {isStyled ? <a href="?">Without a style sheet</a> : <a href="?styled">With our style sheet</a>}
          </p>
          <ul>
            {[...OTHERS, ...STATES].map(({ id, title }) => (
              <li key={id}>
                <a href={addressOf(id)}>{title}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      {other?.show() ?? (chosen !== null && <Conversation id={chosen} />)}
    </main>
  </TurnwireProvider>,
);
