// The header of a conversation: its title, its state and its cost.
import type { Capabilities, ConversationInfo, Snapshot, View } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import { useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { MenuButton, MenuSelect } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { useOnline } from "../app/online";
import { openSidebar } from "../app/sidebar";
import { ConversationMenu } from "../conversations/ConversationMenu";
import { useConversations } from "../conversations/conversationList";
import { Original } from "../conversations/forks";
import { VisibleText } from "../markdown/VisibleText";
import { count, money } from "../words/numbers";
import { AgentChoice } from "./AgentChoice";
import { useBypassConfirmation } from "./BypassConfirmation";
import { supportsCommand, supportsControl } from "./capabilities";
import { openFindBar } from "./FindableTimeline";
import { modeChoices } from "./permissionModes";
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
  setAgent: (agent: string) => void;
  setModel: (model: string | null) => void;
  setMode: (mode: string) => void;
  setOption: (option: string, value: string | boolean) => void;
  /** Opens the panel of the agent; absent: the panel is empty. */
  showAgent: (() => void) | undefined;
}

export function Header({
  id,
  view,
  connection,
  info,
  title,
  name,
  capabilities,
  setAgent,
  setModel,
  setMode,
  setOption,
  showAgent,
}: Props) {
  const words = useWords();
  const { status, totals } = view;
  const isOnline = useOnline();
  const line = !isOnline ? "offline" : connection === "connected" ? undefined : "unknown";
  const { tone, text } = stateText(status, words, line);
  const careful = useBypassConfirmation(setMode);
  const read =
    (totals?.input_tokens ?? 0) +
    (totals?.cache_read_input_tokens ?? 0) +
    (totals?.cache_creation_input_tokens ?? 0);
  return (
    <header className="talk-header">
      <button type="button" className="quiet only-narrow" aria-label={words.menu} onClick={openSidebar}>
        <Icon name="menu" />
      </button>
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
            <span className="wide" title={words.tokensTitle}>
              {words.tokens(count(read), count(totals?.output_tokens ?? 0))}
            </span>
          )}
          {totals?.cost_usd ? <span>{money(totals.cost_usd)}</span> : null}
        </p>
        {info?.forked_from && (
          <p className="facts">
            <Original info={info} />
          </p>
        )}
      </div>
      <div className="chosen">
        {supportsCommand(capabilities, "session.set_agent") && status && (
          <AgentChoice
            current={status.agent ?? capabilities?.agent ?? ""}
            next={status.next_agent}
            choose={setAgent}
          />
        )}
        {supportsCommand(capabilities, "session.set_model") && capabilities?.models?.length ? (
          <MenuSelect
            label={words.model}
            all={[
              // An agent without a model of this name cannot go back to its default.
              ...(capabilities.models.includes("default") || !status?.model
                ? [{ value: "", text: words.defaultModel }]
                : []),
              ...[...new Set([...(status?.model ? [status.model] : []), ...capabilities.models])].map(
                (value) => ({ value, text: value }),
              ),
            ]}
            chosen={status?.model ?? ""}
            choose={(model) => (model || status?.model) && setModel(model || null)}
          />
        ) : null}
        {supportsCommand(capabilities, "session.set_permission_mode") &&
        capabilities?.permission_modes?.length ? (
          <MenuSelect
            label={words.permissionMode}
            all={modeChoices(
              [
                ...(status?.permission_mode ? [status.permission_mode] : [""]),
                ...capabilities.permission_modes,
              ],
              words,
            )}
            chosen={status?.permission_mode ?? ""}
            choose={careful.choose}
          />
        ) : null}
        {supportsControl(capabilities, "set_session_option") &&
          capabilities?.session_options?.map(({ option, name, values = [] }) => (
            <MenuSelect
              key={option}
              label={name ?? option}
              all={
                values.length
                  ? values.map((each) => ({ value: each.value, text: each.name ?? each.value }))
                  : [
                      { value: "true", text: words.switchedOn },
                      { value: "false", text: words.switchedOff },
                    ]
              }
              chosen={String(status?.session_options?.[option] ?? "")}
              choose={(value) => setOption(option, values.length ? value : value === "true")}
            />
          ))}
      </div>
      {showAgent && (
        <button
          type="button"
          className="quiet"
          aria-label={words.agentPanel.title}
          title={`${words.agentPanel.title} (m)`}
          onClick={showAgent}
        >
          <Icon name="agent" />
        </button>
      )}
      <button
        type="button"
        className="quiet"
        aria-label={words.find.title}
        title={`${words.find.title} (Ctrl+F)`}
        onClick={openFindBar}
      >
        <Icon name="search" />
      </button>
      {careful.dialog}
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
