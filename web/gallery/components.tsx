// The components of @turnwire/client/react without a style sheet: /components.html?state=ID
import { Client } from "@turnwire/client";
import { Conversation, Inbox, TurnwireProvider } from "@turnwire/client/react";
import { createRoot } from "react-dom/client";
import { replaceServer } from "./server";
import { STATES } from "./states";

replaceServer();
const chosen = new URLSearchParams(location.search).get("state");
const client = new Client(location.origin);

createRoot(document.getElementById("page") as HTMLElement).render(
  <TurnwireProvider client={client}>
    <main>
      <h1>{STATES.find(({ id }) => id === chosen)?.title ?? "Components"}</h1>
      {chosen === null && (
        <ul>
          {[{ id: "inbox", title: "Inbox" }, ...STATES].map(({ id, title }) => (
            <li key={id}>
              <a href={`?state=${id}`}>{title}</a>
            </li>
          ))}
        </ul>
      )}
      {chosen === "inbox" && <Inbox />}
      {chosen !== null && chosen !== "inbox" && <Conversation id={chosen} />}
    </main>
  </TurnwireProvider>,
);
