// The header of a conversation: its title, its state, and its buttons.
import type { Capabilities, ConversationInfo, Snapshot, View } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { MenuButton } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { linkTo } from "../app/navigation";
import { useOnline } from "../app/online";
import { useTooltip } from "../app/shortcuts";
import { openSidebar } from "../app/sidebar";
import { ConversationMenu } from "../conversations/ConversationMenu";
import { useConversations } from "../conversations/conversationList";
import { Original } from "../conversations/forks";
import { VisibleText } from "../markdown/VisibleText";
import { count, money } from "../words/numbers";
import { openFindBar } from "./FindableTimeline";
import { stateText } from "./stateText";

interface Props {
  id: string;
  view: View;
  connection: Snapshot["connection"];
  info: ConversationInfo | undefined;
  title: string | undefined;
  /** The displayed title. */
  name: string;
  capabilities: Capabilities | undefined;
  /** Opens the panel of the agent; absent: the panel is empty. */
  showAgent: (() => void) | undefined;
}

export function Header({ id, view, connection, info, title, name, capabilities, showAgent }: Props) {
  const words = useWords();
  const tooltip = useTooltip();
  const { status, totals } = view;
  const isOnline = useOnline();
  const line = !isOnline ? "offline" : connection === "connected" ? undefined : "unknown";
  const { tone, text } = stateText(status, words, line);
  const read =
    (totals?.input_tokens ?? 0) +
    (totals?.cache_read_input_tokens ?? 0) +
    (totals?.cache_creation_input_tokens ?? 0);
  const tokens = words.tokens(count(read), count(totals?.output_tokens ?? 0));
  return (
    <header className="talk-header">
      <button type="button" className="quiet open-list" aria-label={words.menu} onClick={openSidebar}>
        <Icon name="menu" />
      </button>
      <a
        className="button quiet open-list"
        aria-label={words.newConversation}
        title={`${words.newConversation} (c)`}
        {...linkTo({ name: "new" })}
      >
        <Icon name="plus" />
      </a>
      <div className="titles">
        <Title id={id} title={title} name={name} />
        <p className="facts">
          <span className={`dot ${tone}`} aria-hidden="true" />
          <span className="state-words">{text}</span>
          {capabilities && <span>{status?.agent ?? capabilities.agent}</span>}
          {status?.model && status.model !== capabilities?.agent && !capabilities?.models?.length && (
            <span className="wide">{status.model}</span>
          )}
          {info?.cwd && (
            <span className="wide path" title={info.cwd}>
              <VisibleText text={info.cwd} />
            </span>
          )}
          {read > 0 && (
            <span className="wide" title={`${words.tokensTitle}: ${tokens}`}>
              {totals?.cost_usd ? money(totals.cost_usd) : tokens}
            </span>
          )}
        </p>
        {info?.forked_from && (
          <p className="facts">
            <Original info={info} />
          </p>
        )}
      </div>
      {showAgent && (
        <button
          type="button"
          className="quiet"
          aria-label={words.agentPanel.title}
          title={tooltip(words.agentPanel.title, "agent")}
          onClick={showAgent}
        >
          <Icon name="agent" />
        </button>
      )}
      <button
        type="button"
        className="quiet"
        aria-label={words.find.title}
        title={tooltip(words.find.title, "find")}
        onClick={openFindBar}
      >
        <Icon name="search" />
      </button>
      <MenuButton label={words.more}>
        {(close) => <ConversationMenu id={id} info={info} title={title} isHere close={close} />}
      </MenuButton>
    </header>
  );
}

/** The title; a click on it starts editing. */
function Title({ id, title, name }: { id: string; title?: string | undefined; name: string }) {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal } = useNotices();
  const { refresh } = useConversations();
  const [edited, setEdited] = useState<string>();
  if (edited === undefined) {
    return (
      <h1>
        <button type="button" className="title" title={words.rename} onClick={() => setEdited(title ?? "")}>
          <VisibleText text={name} />
        </button>
      </h1>
    );
  }
  const save = async () => {
    setEdited(undefined);
    const to = edited.trim();
    if (!to || to === title) return;
    await showingRefusal(
      client.request("PATCH", `/api/conversations/${encodeURIComponent(id)}`, { title: to }),
    );
    void refresh();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input
        autoFocus
        className="title"
        aria-label={words.rename}
        maxLength={500}
        value={edited}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setEdited(event.target.value)}
        onBlur={() => void save()}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.preventDefault();
          setEdited(undefined);
        }}
      />
    </form>
  );
}
