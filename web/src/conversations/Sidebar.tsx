// The list of conversations, and the links to the other pages.
import type { ConversationInfo } from "@turnwire/client";
import { useInbox } from "@turnwire/client/react";
import { useRef } from "react";
import { Icon } from "../app/Icon";
import { Logo } from "../app/Logo";
import { useWords } from "../app/language";
import { goTo, linkTo, usePlace } from "../app/navigation";
import { useOnline } from "../app/online";
import { Preferences } from "../app/Preferences";
import { closeSidebar, useOver, useSidebar } from "../app/sidebar";
import { VisibleText } from "../markdown/VisibleText";
import { stateText } from "../talk/stateText";
import { shortPath } from "../words/paths";
import { ago } from "../words/times";
import { useArchive } from "./archive";
import { useConversations } from "./conversationList";
import { nameOf, Original, useOriginal } from "./forks";

export function Sidebar({ help }: { help: () => void }) {
  const words = useWords();
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
          <Preferences help={help} />
        </header>
        <a className="button primary new" {...linkTo({ name: "new" })} title="c">
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
        <List />
      </nav>
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

function List() {
  const words = useWords();
  const place = usePlace();
  const { all, isLoaded, showsArchived, setShowsArchived, hasMore, more } = useConversations();
  const isOnline = useOnline();
  const here = place.name === "talk" ? place.id : undefined;
  return (
    <>
      <ul className="list">
        {all.map((each) => (
          <Entry key={each.id} info={each} isHere={each.id === here} isOnline={isOnline} />
        ))}
        {isLoaded && !all.length && (
          <li className="muted nothing">{showsArchived ? words.noArchived : words.noConversations}</li>
        )}
      </ul>
      <footer>
        {hasMore && (
          <button type="button" className="quiet small" onClick={more}>
            {words.showMore}
          </button>
        )}
        <button
          type="button"
          className="quiet small"
          aria-pressed={showsArchived}
          onClick={() => setShowsArchived(!showsArchived)}
        >
          <Icon name="archive" /> {showsArchived ? words.showCurrent : words.showArchived}
        </button>
      </footer>
    </>
  );
}

interface EntryProps {
  info: ConversationInfo;
  isHere: boolean;
  isOnline: boolean;
}

function Entry({ info, isHere, isOnline }: EntryProps) {
  const words = useWords();
  const archive = useArchive();
  const { tone, text } = stateText(info.status, words, isOnline ? undefined : "offline");
  const name = nameOf(info.title, info, useOriginal(info), words);
  return (
    <li>
      <a
        className={`entry${isHere ? " here" : ""}`}
        aria-current={isHere ? "page" : undefined}
        {...linkTo({ name: "talk", id: info.id })}
      >
        <span className={`dot ${tone}`} title={text}>
          <span className="hidden">{text}</span>
        </span>
        <span className="what">
          <span className="name">
            <VisibleText text={name} />
          </span>
          <small>
            {info.agent}
            {info.status.model && info.status.model !== info.agent ? ` · ${info.status.model}` : ""} ·{" "}
            {ago(info.updated_at, words)}
          </small>
          {info.cwd && (
            <small className="path" title={info.cwd}>
              <VisibleText text={shortPath(info.cwd)} />
            </small>
          )}
        </span>
      </a>
      <Original info={info} />
      {info.archived && (
        <button
          type="button"
          className="quiet small reopen"
          aria-label={words.reopenIt(name)}
          title={words.reopenIt(name)}
          onClick={() => void archive(info.id, false)}
        >
          <Icon name="rewind" />
        </button>
      )}
    </li>
  );
}
