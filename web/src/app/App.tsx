import { TurnwireProvider, useInbox } from "@turnwire/react";
import { lazy, Suspense, useEffect, useMemo, useState } from "react";
import { flushSync } from "react-dom";
import { sendStored } from "../composer/outbox";
import { ConversationsProvider, useConversations } from "../conversations/conversationList";
import { NewConversation } from "../conversations/NewConversation";
import { Sidebar } from "../conversations/Sidebar";
import { useNotifications } from "../inbox/notifications";
import { ServerBanner } from "../talk/ConnectionBanner";
import { Talk } from "../talk/Talk";
import { componentWords } from "../words/componentWords";
import { client } from "./client";
import { Broken, ErrorBoundary } from "./ErrorBoundary";
import { type Held, HeldKeys } from "./heldKeys";
import { loadAllWords, useWords, WordsProvider } from "./language";
import { MeProvider } from "./me";
import { NoticesProvider, useNotices } from "./Notices";
import { NotSignedIn } from "./NotSignedIn";
import { goBack, goTo, type Place, usePlace } from "./navigation";
import { loadAhead, onDemand } from "./onDemand";
import { SignInWithLink } from "./SignInWithLink";
import { usePolling } from "./serverChanges";
import { isTyping, useKeys } from "./shortcuts";
import { showSidebar, toggleSidebar, useHiddenSidebar } from "./sidebar";
import { type Theme, useTheme } from "./theme";

const Shared = lazy(() => import("../talk/Shared"));
const Settings = onDemand(async () => (await import("./Settings")).default);
const Palette = onDemand(async () => (await import("./Palette")).default);
const ShortcutHelp = onDemand(async () => (await import("./ShortcutHelp")).ShortcutHelp);
const Inbox = onDemand(async () => (await import("../inbox/Inbox")).Inbox);
const Search = onDemand(async () => (await import("../conversations/Search")).Search);

export function App() {
  return (
    <WordsProvider>
      <ErrorBoundary instead={broken}>
        <NoticesProvider>
          <Root />
        </NoticesProvider>
      </ErrorBoundary>
    </WordsProvider>
  );
}

/** A share link is read without an account, so nothing of a signed-in user is loaded with it. */
function Root() {
  const place = usePlace();
  const words = useWords();
  const own = useMemo(() => componentWords(words), [words]);
  useTheme();
  if (place.name === "shared")
    return (
      <Suspense fallback={null}>
        <Shared key={place.secret} secret={place.secret} />
      </Suspense>
    );
  return (
    <TurnwireProvider client={client} words={own}>
      <ConversationsProvider>
        <Page />
      </ConversationsProvider>
    </TurnwireProvider>
  );
}

const broken = (problem: unknown) => <Broken problem={problem} />;

function Page() {
  const { isKnown, refresh } = useConversations();
  const place = usePlace();
  if (place.name === "enter") return <SignInWithLink client={client} link={place.link} />;
  if (isKnown === false) return <NotSignedIn retry={() => void refresh()} />;
  return (
    <MeProvider>
      <Inside />
    </MeProvider>
  );
}

const NEXT: Record<Theme, Theme> = { system: "dark", dark: "light", light: "system" };

function Inside() {
  const words = useWords();
  const [isHelp, setHelp] = useState(false);
  /** What was typed while the palette was loading; undefined: it is closed. */
  const [palette, setPalette] = useState<Held>();
  const [theme, setTheme] = useTheme();
  const place = usePlace();
  const { all, isKnown } = useConversations();
  const { showRefusal } = useNotices();
  const inbox = useInbox();
  useNotifications();
  usePolling(inbox.refresh, true);
  useEffect(() => {
    if (isKnown) sendStored(client, showRefusal);
  }, [isKnown, showRefusal]);
  useEffect(() => {
    void loadAhead().then(loadAllWords);
  }, []);
  useEffect(() => setBadge(inbox.items.length), [inbox.items.length]);

  const isHidden = useHiddenSidebar();
  const closePalette = () => setPalette(undefined);
  const step = (by: number) => {
    const at = place.name === "talk" ? all.findIndex((each) => each.id === place.id) : -1;
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    if (next) goTo({ name: "talk", id: next.id }, "walk");
  };
  useKeys({
    help: () => setHelp(true),
    palette: () => setPalette((now) => now ?? { text: "", isEntered: false }),
    new: () => goTo({ name: "new" }),
    inbox: () => goTo({ name: "inbox" }),
    back: goBack,
    search: () => {
      if (isHidden) flushSync(showSidebar);
      document.getElementById("search")?.focus();
    },
    next: () => step(1),
    previous: () => step(-1),
    list: toggleSidebar,
    theme: () => setTheme(NEXT[theme]),
    // Leaves the field, so that the other shortcuts work.
    leave: (event) => {
      if (isTyping(event.target)) (event.target as HTMLElement).blur();
      return false;
    },
  });
  return (
    <>
      <a className="skip" href="#main">
        {words.skipToMain}
      </a>
      <div className={`frame${isHidden ? " without-list" : ""}`}>
        <Sidebar help={() => setHelp(true)} />
        <ErrorBoundary of={place} instead={broken}>
          <Here />
        </ErrorBoundary>
      </div>
      {palette && (
        <ErrorBoundary instead={() => null}>
          <Palette
            help={() => setHelp(true)}
            held={palette}
            close={closePalette}
            meanwhile={<HeldKeys held={palette} close={closePalette} />}
          />
        </ErrorBoundary>
      )}
      {isHelp && <ShortcutHelp close={() => setHelp(false)} />}
    </>
  );
}

const emptyPage = <main className="page" id="main" />;

function Here() {
  const place = usePlace();
  if (place.name === "talk") return <Talk key={place.id} id={place.id} at={place.at} />;
  return (
    <div className="below-banner">
      <ServerBanner />
      <OtherPage place={place} />
    </div>
  );
}

function OtherPage({ place }: { place: Exclude<Place, { name: "talk" }> }) {
  switch (place.name) {
    case "inbox":
      return <Inbox meanwhile={emptyPage} />;
    case "settings":
      return <Settings part={place.part} meanwhile={emptyPage} />;
    case "search":
      return <Search words={place.words} meanwhile={emptyPage} />;
    case "enter":
    case "shared":
    case "home":
    case "new":
      return <NewConversation />;
  }
}

/** Sets the number on the icon of an installed page, if the browser supports it. */
function setBadge(waiting: number): void {
  const { setAppBadge, clearAppBadge } = navigator as Partial<Navigator>;
  if (waiting) void setAppBadge?.call(navigator, waiting).catch(() => {});
  else void clearAppBadge?.call(navigator).catch(() => {});
}
