import { Client } from "@turnwire/client";
import { TurnwireProvider, useInbox } from "@turnwire/client/react";
import { useEffect, useState } from "react";
import { postKept } from "../acting/outbox";
import { New } from "../conversations/New";
import { Search } from "../conversations/Search";
import { Sidebar } from "../conversations/Sidebar";
import { ConversationsProvider, useConversations } from "../conversations/store";
import { Inbox } from "../inbox/Inbox";
import { useNotifications } from "../inbox/notify";
import { Talk } from "../talk/Talk";
import { useChanges } from "./changes";
import { Enter } from "./Enter";
import { Entry } from "./Entry";
import { Broken, Guard } from "./Guard";
import { Help } from "./Help";
import { isTyping, useKeys } from "./keys";
import { NoticesProvider, useNotices } from "./Notices";
import { go, goBack, usePlace } from "./places";
import { type Theme, useTheme } from "./theme";
import { useWords, WordsProvider } from "./words";

const client = new Client(document.baseURI.replace(/\/$/, ""));

export function App() {
  return (
    <WordsProvider>
      <Guard instead={broken}>
        <NoticesProvider>
          <TurnwireProvider client={client}>
            <ConversationsProvider>
              <Page />
            </ConversationsProvider>
          </TurnwireProvider>
        </NoticesProvider>
      </Guard>
    </WordsProvider>
  );
}

const broken = (problem: unknown) => <Broken problem={problem} />;

function Page() {
  const { isKnown, refresh } = useConversations();
  const place = usePlace();
  useTheme();
  if (place.name === "enter") return <Enter client={client} link={place.link} />;
  if (isKnown === false) return <Entry retry={() => void refresh()} />;
  return <Inside />;
}

const NEXT: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };

function Inside() {
  const words = useWords();
  const [isHelp, setHelp] = useState(false);
  const [theme, setTheme] = useTheme();
  const place = usePlace();
  const { all, isKnown } = useConversations();
  const { explain } = useNotices();
  const inbox = useInbox();
  useNotifications();
  useChanges(inbox.refresh, true);
  useEffect(() => {
    if (isKnown) postKept(client, explain);
  }, [isKnown, explain]);
  useEffect(() => setBadge(inbox.items.length), [inbox.items.length]);

  const step = (by: number) => {
    const at = place.name === "talk" ? all.findIndex((each) => each.id === place.id) : -1;
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (next) go({ name: "talk", id: next.id }, "walk");
  };
  useKeys({
    "?": () => setHelp(true),
    c: (event) => {
      event.preventDefault();
      go({ name: "new" });
    },
    g: () => go({ name: "inbox" }),
    b: goBack,
    s: (event) => {
      event.preventDefault();
      document.getElementById("search")?.focus();
    },
    j: () => step(1),
    k: () => step(-1),
    t: () => setTheme(NEXT[theme]),
    // Leaves the field, so that the other shortcuts work.
    Escape: (event) => isTyping(event.target) && (event.target as HTMLElement).blur(),
  });
  return (
    <>
      <a className="skip" href="#main">
        {words.skipToMain}
      </a>
      <div className="frame">
        <Sidebar help={() => setHelp(true)} />
        <Guard of={place} instead={broken}>
          <Here />
        </Guard>
      </div>
      {isHelp && <Help close={() => setHelp(false)} />}
    </>
  );
}

function Here() {
  const place = usePlace();
  switch (place.name) {
    case "talk":
      return <Talk key={place.id} id={place.id} at={place.at} />;
    case "inbox":
      return <Inbox />;
    case "search":
      return <Search words={place.words} />;
    case "enter":
    case "home":
    case "new":
      return <New />;
  }
}

/** Sets the number on the icon of an installed page, if the browser supports it. */
function setBadge(waiting: number): void {
  const { setAppBadge, clearAppBadge } = navigator as Partial<Navigator>;
  if (waiting) void setAppBadge?.call(navigator, waiting).catch(() => {});
  else void clearAppBadge?.call(navigator).catch(() => {});
}
