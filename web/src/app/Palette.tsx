// The command palette: conversations, actions and settings, by their names.
import type { ConversationInfo } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from "react";
import { useConversations } from "../conversations/conversationList";
import { nameOf } from "../conversations/forks";
import { VisibleText } from "../markdown/VisibleText";
import type { Words } from "../words/en";
import { ago } from "../words/times";
import { offeredActions } from "./actions";
import type { Held } from "./heldKeys";
import { Icon, type IconName } from "./Icon";
import { useKeyWords } from "./keyWords";
import { useLanguage, useWords } from "./language";
import { goTo } from "./navigation";
import { matching } from "./paletteMatches";
import { keyOf, labelOf, type Shortcut, useShortcuts } from "./shortcuts";
import { toggleSidebar } from "./sidebar";
import { type Theme, useTheme } from "./theme";

const LIST = "palette-list";
/** The most conversations that are listed, and that the server is asked for. */
const SHOWN = 30;
const ASKED = 500;
const THEMES = { system: "auto", light: "sun", dark: "moon" } as const;

interface Item {
  id: string;
  icon: IconName;
  label: string;
  /** Shown after the label. */
  about?: string | undefined;
  /** The shortcut whose key is shown after the label. */
  shortcut?: Shortcut | undefined;
  run: () => void;
}

interface Props {
  help: () => void;
  /** What was typed before. */
  held: Held;
  close: () => void;
}

export default function Palette({ help, held, close }: Props) {
  const words = useWords();
  const [text, setText] = useState(held.text);
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const actions = usePageActions(help);
  const here = useActionsHere();
  const talks = useTalks();
  const keys = useShortcuts();
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  });

  const groups = useMemo(() => {
    const search: Item = {
      id: "search",
      icon: "search",
      label: words.palette.searchFor(text.trim()),
      run: () => goTo({ name: "search", words: text.trim() }),
    };
    return [
      { title: words.palette.here, items: matching(here, text) },
      { title: words.palette.actions, items: matching(actions, text) },
      { title: words.conversations, items: matching(talks, text).slice(0, SHOWN) },
      { title: words.palette.search, items: text.trim() ? [search] : [] },
    ].filter(({ items }) => items.length);
  }, [here, actions, talks, text, words]);
  const items = groups.flatMap((group) => group.items);
  const chosen = items[Math.min(at, items.length - 1)];

  const leave = () => {
    dialog.current?.close(); // the focus goes back to where it was
    close(); // at once: its event comes later, and the palette may be opened again before it
  };
  const run = (item: Item | undefined) => {
    leave();
    item?.run();
  };
  const isEntered = useRef(held.isEntered);
  useEffect(() => {
    if (!isEntered.current) return;
    isEntered.current = false;
    run(chosen);
  });
  const pressed = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((Math.min(at, items.length - 1) + step + items.length) % items.length);
    else if (event.key === "Enter") run(chosen);
    else if (keys.palette?.includes("+", 1) && keyOf(event) === keys.palette) leave();
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label={words.palette.title}
      onClose={close}
      onClick={(event) => event.target === dialog.current && leave()}
    >
      <input
        autoFocus
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={LIST}
        aria-activedescendant={chosen && optionId(chosen)}
        aria-label={words.palette.title}
        placeholder={words.palette.placeholder}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={pressed}
      />
      <span className="hidden" role="status">
        {words.palette.found(items.length)}
      </span>
      <div ref={list} id={LIST} role="listbox" aria-label={words.palette.title}>
        {groups.map(({ title, items }) => (
          <div key={title} role="group" aria-label={title}>
            <p className="heading" aria-hidden="true">
              {title}
            </p>
            {items.map((item) => (
              <div
                key={item.id}
                id={optionId(item)}
                role="option"
                tabIndex={-1}
                aria-selected={item === chosen}
                onMouseDown={(event) => event.preventDefault()} // the field keeps the focus
                onClick={() => run(item)}
              >
                <Icon name={item.icon} />
                <span className="name">
                  <VisibleText text={item.label} />
                </span>
                <About item={item} />
              </div>
            ))}
          </div>
        ))}
      </div>
    </dialog>
  );
}

/** What is shown behind an item: its key, or a note. */
function About({ item: { about, shortcut } }: { item: Item }) {
  const key = useShortcuts()[shortcut ?? "help"];
  const text = shortcut ? key && labelOf(key) : about;
  return text && <small>{text}</small>;
}

function optionId({ id }: Item): string {
  return `palette-${id}`;
}

/** What can be done in the place that is shown. */
function useActionsHere(): Item[] {
  const [here] = useState(() =>
    offeredActions().map(({ name, label, icon, shortcut, run }) => ({
      id: `action-${name}`,
      icon,
      label,
      shortcut,
      run,
    })),
  );
  return here;
}

/** What can be done everywhere, and the settings. */
function usePageActions(help: () => void): Item[] {
  const words = useWords();
  const keyWords = useKeyWords();
  const [theme, setTheme] = useTheme();
  const [language, setLanguage] = useLanguage();
  const settings = (Object.keys(THEMES) as Theme[])
    .filter((each) => each !== theme)
    .map((each) => ({
      id: `theme-${each}`,
      icon: THEMES[each],
      label: words.palette.theme(words.themes[each]),
      run: () => setTheme(each),
    }));
  const other = language === "zh" ? "en" : "zh";
  return [
    {
      id: "new",
      icon: "plus",
      label: words.newConversation,
      shortcut: "new",
      run: () => goTo({ name: "new" }),
    },
    { id: "inbox", icon: "inbox", label: words.inbox, shortcut: "inbox", run: () => goTo({ name: "inbox" }) },
    { id: "list", icon: "panel", label: keyWords.names.list, shortcut: "list", run: toggleSidebar },
    {
      id: "settings",
      icon: "settings",
      label: words.settings.title,
      run: () => goTo({ name: "settings" }),
    },
    ...settings,
    {
      id: "language",
      icon: "globe",
      label: other === "zh" ? "中文" : "English",
      run: () => setLanguage(other),
    },
    { id: "keys", icon: "question", label: words.keyboard, shortcut: "help", run: help },
  ];
}

/** The conversations: those of the list, and soon also older ones. */
function useTalks(): Item[] {
  const words = useWords();
  const client = useTurnwire();
  const { all } = useConversations();
  const [more, setMore] = useState<ConversationInfo[]>([]);
  useEffect(() => {
    let isGone = false;
    client
      .request<{ conversations: ConversationInfo[] }>(
        "GET",
        `/api/conversations?limit=${ASKED}&archived=false`,
      )
      .then(
        ({ conversations }) => isGone || setMore(conversations),
        () => {}, // then only those of the list are offered
      );
    return () => {
      isGone = true;
    };
  }, [client]);
  return useMemo(() => {
    const known = new Map([...all, ...more].map((info) => [info.id, info]));
    return [...known.values()].map((info) => talkItem(info, known.get(info.forked_from?.id ?? ""), words));
  }, [all, more, words]);
}

function talkItem(info: ConversationInfo, original: ConversationInfo | undefined, words: Words): Item {
  return {
    id: `talk-${info.id}`,
    icon: info.archived ? "archive" : "list",
    label: nameOf(info.title ?? undefined, info, original, words),
    about: ago(info.updated_at, words),
    run: () => goTo({ name: "talk", id: info.id }),
  };
}
