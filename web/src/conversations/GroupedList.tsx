// The conversations in the sidebar: in groups, filtered, and several of them selected.
import type { ConversationInfo } from "@turnwire/client";
import { useEffect, useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { MenuButton, MenuChoices } from "../app/Menu";
import { linkTo, usePlace } from "../app/navigation";
import { useOnline } from "../app/online";
import { VisibleText } from "../markdown/VisibleText";
import { stateText, type Tone } from "../talk/stateText";
import { useUnreadTitle } from "../talk/tabTitle";
import { shortPath } from "../words/paths";
import { ago } from "../words/times";
import { useArchive } from "./archive";
import { ConversationMenu } from "./ConversationMenu";
import { useConversations } from "./conversationList";
import { isFiltered } from "./filters";
import { nameOf, Original, useOriginal } from "./forks";
import { groupsOf, usualDirectory } from "./groups";
import { useSelectionActions } from "./selection";
import { isUnread, markRead, useFirstVisit, useShown } from "./unread";

const STATES: Tone[] = ["asks", "busy", "calm", "stopped", "failed"];

export function GroupedList() {
  const words = useWords();
  const place = usePlace();
  const { all, isLoaded, showsArchived, setShowsArchived, filters, hasMore, more } = useConversations();
  const isOnline = useOnline();
  const shown = useShown();
  const unread = new Set(all.filter((each) => isUnread(shown, each)).map((each) => each.id));
  useFirstVisit(all, isLoaded);
  useUnreadTitle(unread.size);
  const [selected, setSelected] = useState<Set<string>>();
  useEffect(() => {
    if (!selected) return;
    const leave = (event: KeyboardEvent) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      setSelected(undefined);
    };
    addEventListener("keydown", leave, true); // before the list of a phone closes
    return () => removeEventListener("keydown", leave, true);
  }, [selected]);
  const here = place.name === "talk" ? place.id : undefined;
  const usual = usualDirectory(all);
  const toggle = (id: string) =>
    setSelected((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  return (
    <>
      <div className="list-bar">
        <h2>{showsArchived ? words.archivedHeading : words.conversations}</h2>
        <FilterMenu />
        <button
          type="button"
          className="quiet small"
          aria-label={words.selecting.open}
          title={words.selecting.open}
          aria-pressed={selected !== undefined}
          onClick={() => setSelected(selected ? undefined : new Set())}
        >
          <Icon name="select" />
        </button>
      </div>
      <FilterChips />
      <div className="list">
        {groupsOf(all).map(({ name, all }) => (
          <section key={name} aria-labelledby={`group-${name}`}>
            <h3 id={`group-${name}`}>{words.groups[name]}</h3>
            <ul>
              {all.map((each) => (
                <Entry
                  key={each.id}
                  info={each}
                  isHere={each.id === here}
                  isOnline={isOnline}
                  isUnread={unread.has(each.id)}
                  hasPath={each.cwd !== usual}
                  isSelected={selected?.has(each.id)}
                  toggle={() => toggle(each.id)}
                />
              ))}
            </ul>
          </section>
        ))}
        {!isLoaded && [1, 2, 3].map((each) => <div key={each} className="skeleton" />)}
        {isLoaded && !all.length && (
          <p className="muted nothing">
            {isFiltered(filters) ? (
              words.filter.none
            ) : showsArchived ? (
              words.noArchived
            ) : (
              <>
                {words.noConversations}
                <br />
                {words.listHint}
              </>
            )}
          </p>
        )}
      </div>
      {selected && (
        <SelectionBar
          selected={all.filter((each) => selected.has(each.id))}
          hasUnread={all.some((each) => selected.has(each.id) && unread.has(each.id))}
          all={all.map((each) => each.id)}
          select={(ids) => setSelected(ids && new Set(ids))}
        />
      )}
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
          onClick={() => {
            setSelected(undefined);
            setShowsArchived(!showsArchived);
          }}
        >
          <Icon name="archive" /> {showsArchived ? words.showCurrent : words.showArchived}
        </button>
      </footer>
    </>
  );
}

/** The filters: by state, by agent and by label. */
function FilterMenu() {
  const words = useWords();
  const { filters, setFilters, choices } = useConversations();
  const all = { value: undefined, text: words.filter.all };
  const asChoices = (values: string[]) => [
    all,
    ...values.map((value) => ({ value, text: <VisibleText text={value} /> })),
  ];
  return (
    <MenuButton
      label={words.filter.open}
      icon="filter"
      className={`quiet small${isFiltered(filters) ? " on" : ""}`}
    >
      {(close) => {
        const set = (to: Partial<typeof filters>) => {
          setFilters({ ...filters, ...to });
          close();
        };
        return (
          <>
            <MenuChoices
              label={words.filter.state}
              all={[all, ...STATES.map((value) => ({ value, text: words.filter.states[value] }))]}
              chosen={filters.state}
              choose={(state) => set({ state })}
            />
            {choices.agents.length > 1 && (
              <MenuChoices
                label={words.agent}
                all={asChoices(choices.agents)}
                chosen={filters.agent}
                choose={(agent) => set({ agent })}
              />
            )}
            {choices.labels.length > 0 && (
              <MenuChoices
                label={words.filter.label}
                all={asChoices(choices.labels)}
                chosen={filters.label}
                choose={(label) => set({ label })}
              />
            )}
          </>
        );
      }}
    </MenuButton>
  );
}

/** The filters that are on. A click on one ends it. */
function FilterChips() {
  const words = useWords();
  const { filters, setFilters } = useConversations();
  if (!isFiltered(filters)) return null;
  return (
    <div className="chips">
      {Object.entries(filters).map(([name, value]) => {
        if (value === undefined) return null;
        const text = name === "state" ? words.filter.states[value as Tone] : value;
        return (
          <button
            key={name}
            type="button"
            className="small"
            aria-label={words.filter.clear(text)}
            title={words.filter.clear(text)}
            onClick={() => setFilters({ ...filters, [name]: undefined })}
          >
            <VisibleText text={text} /> <Icon name="cross" />
          </button>
        );
      })}
    </div>
  );
}

interface SelectionProps {
  selected: ConversationInfo[];
  hasUnread: boolean;
  all: string[];
  /** Undefined ends the selection. */
  select: (ids: string[] | undefined) => void;
}

function SelectionBar({ selected, hasUnread, all, select }: SelectionProps) {
  const words = useWords();
  const ids = selected.map((each) => each.id);
  const { showsArchived } = useConversations();
  const actions = useSelectionActions();
  const run = (work: Promise<unknown>) => {
    select(undefined);
    void work;
  };
  return (
    <div className="selection" role="group" aria-label={words.selecting.open}>
      <span role="status">{words.selecting.count(selected.length)}</span>
      <button type="button" className="small" onClick={() => select(all)}>
        {words.selecting.all}
      </button>
      <button type="button" className="quiet small" onClick={() => select(undefined)}>
        {words.cancel}
      </button>
      <button
        type="button"
        className="small"
        disabled={!hasUnread}
        onClick={() => {
          markRead(selected);
          select(undefined);
        }}
      >
        <Icon name="envelope" /> {words.markRead}
      </button>
      <button
        type="button"
        className="small"
        disabled={!selected.length}
        onClick={() => run(actions.archive(ids, !showsArchived))}
      >
        <Icon name="archive" /> {showsArchived ? words.reopen : words.archive}
      </button>
      <button
        type="button"
        className="small bad"
        disabled={!selected.length}
        onClick={() => run(actions.remove(ids))}
      >
        <Icon name="bin" /> {words.delete}
      </button>
    </div>
  );
}

interface EntryProps {
  info: ConversationInfo;
  isHere: boolean;
  isOnline: boolean;
  isUnread: boolean;
  /** Whether its directory is not that of the others. */
  hasPath: boolean;
  /** Undefined: nothing is being selected. */
  isSelected: boolean | undefined;
  toggle: () => void;
}

function Entry({ info, isHere, isOnline, isUnread, hasPath, isSelected, toggle }: EntryProps) {
  const words = useWords();
  const archive = useArchive();
  const { tone, text } = stateText(info.status, words, isOnline ? undefined : "offline");
  const name = nameOf(info.title, info, useOriginal(info), words);
  const look = isUnread ? "entry unread" : "entry";
  const mark = isUnread && (
    <span className="news" title={words.unread}>
      <span className="hidden">{words.unread}</span>
    </span>
  );
  const what = (
    <span className="what">
      <span className="name">
        <VisibleText text={name} />
      </span>
      <small>
        {info.agent}
        {info.status.model && info.status.model !== info.agent ? ` · ${info.status.model}` : ""} ·{" "}
        {ago(info.updated_at, words)}
      </small>
      {hasPath && info.cwd && (
        <small className="path" title={info.cwd}>
          <VisibleText text={shortPath(info.cwd)} />
        </small>
      )}
      {info.labels && (
        <span className="labels">
          {info.labels.map((each) => (
            <span key={each} className="label">
              <VisibleText text={each} />
            </span>
          ))}
        </span>
      )}
    </span>
  );
  if (isSelected !== undefined)
    return (
      <li>
        <label className={look}>
          <input type="checkbox" checked={isSelected} onChange={toggle} />
          {what}
          {mark}
        </label>
      </li>
    );
  return (
    <li>
      <a
        className={`${look}${isHere ? " here" : ""}`}
        aria-current={isHere ? "page" : undefined}
        title={info.cwd}
        {...linkTo({ name: "talk", id: info.id }, () => isHere && isUnread && markRead([info]))}
      >
        <span className={`dot ${tone}`} title={text}>
          <span className="hidden">{text}</span>
        </span>
        {what}
        {mark}
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
      <div className="entry-menu">
        <MenuButton label={words.more} title={words.actionsOn(name)} className="quiet small">
          {(close) => (
            <ConversationMenu id={info.id} info={info} title={name} isHere={isHere} close={close} />
          )}
        </MenuButton>
      </div>
    </li>
  );
}
