// The list of conversations, and the links to the other pages.
import { useInbox } from "@turnwire/react";
import { useRef } from "react";
import { Icon } from "../app/Icon";
import { Logo } from "../app/Logo";
import { useWords } from "../app/language";
import { goTo, linkTo, usePlace } from "../app/navigation";
import { Preferences } from "../app/Preferences";
import { useTooltip } from "../app/shortcuts";
import { closeSidebar, hideSidebar, useOver, useSidebar } from "../app/sidebar";
import { ConversationDialog } from "./conversationDialogs";
import { GroupedList } from "./GroupedList";

export function Sidebar({ help }: { help: () => void }) {
  const words = useWords();
  const tooltip = useTooltip();
  const place = usePlace();
  const isOpen = useSidebar();
  const waiting = useInbox().items.length;
  const list = useRef<HTMLElement>(null);
  useOver(list, isOpen);
  return (
    <>
      {isOpen && <button type="button" className="veil" aria-label={words.close} onClick={closeSidebar} />}
      <nav
        ref={list}
        className={`sidebar${isOpen ? " open" : ""}`}
        aria-label={words.conversations}
        onClick={(event) => (event.target as Element).closest("a") && closeSidebar()}
      >
        <header>
          <a className="brand" {...linkTo({ name: "home" })}>
            <Logo /> Turnwire
          </a>
          <button
            type="button"
            className="quiet hide-list"
            aria-label={words.hideList}
            title={tooltip(words.hideList, "list")}
            onClick={hideSidebar}
          >
            <Icon name="panel" />
          </button>
          <Preferences help={help} />
        </header>
        <a
          className="button primary new"
          {...linkTo({ name: "new" })}
          title={tooltip(words.newConversation, "new")}
        >
          <Icon name="plus" /> {words.newConversation}
        </a>
        <SearchField words={place.name === "search" ? place.words : ""} />
        <a
          className={`entry inbox${place.name === "inbox" ? " here" : ""}`}
          aria-current={place.name === "inbox" ? "page" : undefined}
          {...linkTo({ name: "inbox" })}
        >
          <Icon name="inbox" /> {words.inbox}
          {waiting > 0 && (
            <span className="badge" role="status" aria-label={words.waitingCount(waiting)}>
              {waiting}
            </span>
          )}
        </a>
        <GroupedList />
      </nav>
      <ConversationDialog />
    </>
  );
}

function SearchField({ words: sought }: { words: string }) {
  const words = useWords();
  return (
    <form
      role="search"
      className="search"
      key={sought}
      onSubmit={(event) => {
        event.preventDefault();
        const text = String(new FormData(event.currentTarget).get("q") ?? "").trim();
        if (text) goTo({ name: "search", words: text });
        closeSidebar();
      }}
    >
      <Icon name="search" />
      <input
        id="search"
        name="q"
        type="search"
        defaultValue={sought}
        placeholder={words.search}
        aria-label={words.search}
        enterKeyHint="search"
      />
      <button type="submit" className="quiet small" aria-label={words.searchNow} title={words.searchNow}>
        <span aria-hidden="true">↵</span>
      </button>
    </form>
  );
}
