// A new conversation: its agent, its folder and its first message.
import { useTurnwire } from "@turnwire/react";
import { useEffect, useRef, useState } from "react";
import { readStored, store } from "../app/browserStorage";
import { CopyButton } from "../app/CopyButton";
import { isTouch, useInitialFocus } from "../app/focus";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { lookUp } from "../app/lookup";
import { MenuSelect } from "../app/Menu";
import { useNotices } from "../app/Notices";
import { goTo, usePlace } from "../app/navigation";
import { onDemand } from "../app/onDemand";
import { PageHeader } from "../app/PageHeader";
import { notifyChange } from "../app/serverChanges";
import { AttachButton, Attachments, pasteFiles, useDropped } from "../composer/Attachments";
import { CommandList, LIST, optionId } from "../composer/CommandList";
import { draftName, returnText, useDraft } from "../composer/drafts";
import { useMentions } from "../composer/fileMentions";
import { messageOf, useAttachments } from "../composer/messageFiles";
import { sendStoring } from "../composer/outbox";
import { useCommands, useCommandsBefore } from "../composer/slashCommands";
import { VisibleText } from "../markdown/VisibleText";
import { Initials } from "../talk/AgentMark";
import { useBypassConfirmation } from "../talk/BypassConfirmation";
import { Hints } from "../talk/Hints";
import { modeChoices } from "../talk/permissionModes";
import { shortPath } from "../words/paths";
import { type Agent, useAgents } from "./agents";
import { useConversations } from "./conversationList";
import { keepDirectory } from "./recentDirectories";

const DirectoryPicker = onDemand(async () => (await import("./DirectoryPicker")).default);

export function NewConversation() {
  const words = useWords();
  const isHome = usePlace().name === "home";
  const client = useTurnwire();
  const { showNotice, showingRefusal } = useNotices();
  const { refresh } = useConversations();
  const { agents, problem } = useAgents();
  const [name, setName] = useState(readStored("agent") ?? "");
  const [model, setModel] = useState("");
  const [mode, setMode] = useState("");
  const careful = useBypassConfirmation(setMode);
  const [cwd, setCwd] = useState("");
  const [isPicking, setPicking] = useState(false);
  const { text: first, latest, write } = useDraft(draftName());
  const [isBusy, setBusy] = useState(false);
  /** Whether a person has started before the agents were known. */
  const [isWaiting, setWaiting] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  useInitialFocus(field);
  const ready = agents?.filter((each) => each.ready) ?? [];
  const agent = ready.find((each) => each.name === name) ?? ready.find((each) => each.default) ?? ready[0];

  const attached = useAttachments(client, undefined, agent?.capabilities, showNotice);
  const isOver = useDropped(attached.take);
  const complete = (text: string) => {
    write(text);
    field.current?.focus();
  };
  const commands = useCommands(useCommandsBefore(agent, cwd.trim()), complete);
  const mentions = useMentions(client, { directory: cwd.trim() }, field, complete);
  const choice = commands.isOpen ? commands : mentions; // only one of them is open

  // A model or a mode of another agent does not count.
  const { models = [], permission_modes = [] } = agent?.capabilities ?? {};
  const begin = async (written: string) => {
    if (!agents) setWaiting(true);
    if (!agent || isBusy) return;
    const refused = attached.refused();
    if (refused !== undefined) return showNotice(words.fileNotTaken(refused));
    setBusy(true);
    store("agent", agent.name);
    const id = await showingRefusal(
      client.create({
        agent: agent.name,
        ...(models.includes(model) ? { model } : {}),
        ...(permission_modes.includes(mode) ? { permission_mode: mode } : {}),
        ...(cwd.trim() ? { cwd: cwd.trim() } : {}),
      }),
    );
    if (id && cwd.trim()) keepDirectory(cwd.trim());
    const parts = id && (await showingRefusal(attached.uploads.bringTo(id)));
    setBusy(false);
    if (id === undefined) return;
    const text = attached.texts.joinedTo(written.trim());
    // Keeps text that was written after an idea was chosen.
    if (latest.current === written) write("", "now");
    if (!parts)
      returnText(id, text); // the creation was refused: keep the text for the next one
    else if (text || parts.length) void showingRefusal(sendStoring(client, id, messageOf(text, parts)));
    goTo({ name: "talk", id }, "replace");
    notifyChange();
    void refresh();
  };
  const now = useRef(begin);
  now.current = begin;
  useEffect(() => {
    if (!isWaiting || !agents) return;
    setWaiting(false);
    void now.current(latest.current);
  }, [isWaiting, agents, latest]);
  return (
    <main className="page" id="main">
      <PageHeader title={isHome ? words.welcome : words.newConversation} />
      {isHome && <p className="welcome muted">{words.welcomeHint}</p>}
      <form
        className={`new-talk${isOver ? " over" : ""}`}
        onSubmit={(event) => {
          event.preventDefault();
          void begin(first);
        }}
      >
        <div className="start-box">
          <CommandList offered={choice} sign={choice === commands ? "/" : "@"} />
          <textarea
            ref={field}
            id="composer"
            rows={3}
            value={first}
            aria-label={words.firstWords}
            placeholder={words.firstWords}
            aria-autocomplete="list"
            aria-controls={choice.found.length ? LIST : undefined}
            aria-activedescendant={choice.found.length ? optionId(choice.at) : undefined}
            onChange={(event) => {
              write(event.target.value);
              setWaiting(false); // the message is not complete yet
              commands.typed(event.target.value);
              mentions.typed(event.target.value);
            }}
            onBlur={(event) => event.relatedTarget?.id !== LIST && choice.close()}
            onPaste={(event) => pasteFiles(event, attached)}
            onKeyDown={(event) => {
              if (!event.nativeEvent.isComposing && (commands.pressed(event) || mentions.pressed(event)))
                return;
              if (event.key !== "Enter" || event.shiftKey || isTouch() || event.nativeEvent.isComposing)
                return;
              event.preventDefault();
              void begin(first);
            }}
          />
          <Attachments of={attached} />
          <div className="start-bar">
            <AttachButton take={attached.take} />
            {models.length > 0 && (
              <MenuSelect
                label={words.model}
                all={["", ...models].map((value) => ({ value, text: value || words.defaultModel }))}
                chosen={models.includes(model) ? model : ""}
                choose={setModel}
              />
            )}
            {permission_modes.length > 0 && (
              <MenuSelect
                label={words.permissionMode}
                all={modeChoices(["", ...permission_modes], words)}
                chosen={permission_modes.includes(mode) ? mode : ""}
                choose={careful.choose}
              />
            )}
            <button
              type="button"
              className="menu-select"
              aria-label={`${words.chooseDirectory.open}: ${cwd || words.chooseDirectory.usual}`}
              title={cwd || words.chooseDirectory.open}
              onClick={() => setPicking(true)}
            >
              <Icon name="folder" />
              <span>
                <VisibleText text={cwd ? shortPath(cwd) : words.chooseDirectory.usual} />
              </span>
            </button>
            <button type="submit" className="primary" disabled={(agents && !agent) || isBusy}>
              {words.begin}
            </button>
          </div>
          <p className="waits muted" role="status">
            {isWaiting && words.startsLater}
          </p>
        </div>
        {agent?.name === "demo" && (
          <div className="ideas" role="group" aria-label={words.ideas}>
            {words.demoIdeas.map((idea) => (
              <button key={idea} type="button" className="small" onClick={() => void begin(idea)}>
                {idea}
              </button>
            ))}
          </div>
        )}
        {problem !== undefined && (
          <p className={problem ? "bad" : "muted"} role="alert">
            {problem} {words.agentsLater}
          </p>
        )}
        <div className="agent-cards" role="radiogroup" aria-label={words.agent}>
          {!agents && [1, 2].map((each) => <div key={each} className="skeleton" />)}
          {agents?.map((each) => (
            <AgentCard
              key={each.name}
              agent={each}
              isChosen={each === agent}
              choose={() => setName(each.name)}
            />
          ))}
        </div>
      </form>
      <Hints isStart hasCommands={commands.isPossible} />
      {isPicking && <DirectoryPicker cwd={cwd} choose={setCwd} close={() => setPicking(false)} />}
      {careful.dialog}
    </main>
  );
}

/** An agent to choose: what it is, what it can do, or what is missing to use it. */
function AgentCard({ agent, isChosen, choose }: { agent: Agent; isChosen: boolean; choose: () => void }) {
  const words = useWords();
  const line = lookUp(words.agentLines, agent.name);
  const able = agent.abilities.map(({ name, text }) => lookUp(words.abilities, name) ?? text);
  return (
    <div className={`agent-card${isChosen ? " chosen" : ""}${agent.ready ? "" : " missing"}`}>
      <label>
        <input
          type="radio"
          name="agent"
          value={agent.name}
          aria-label={agent.name}
          checked={isChosen}
          disabled={!agent.ready}
          onChange={choose}
        />
        <Initials name={agent.name} />
        <span className="about-agent">
          <strong>
            {agent.name}
            {!agent.ready && <span className="muted"> · {words.notReady}</span>}
          </strong>
          <span lang={line === undefined ? "en" : undefined}>{line ?? agent.description}</span>
          {isChosen && (
            <small className="muted">
              {agent.version && `${words.versionOf(agent.version)} `}
              {able.length > 0 && words.canDo(able.join(words.comma))}
            </small>
          )}
        </span>
      </label>
      {agent.unavailable && (
        <details>
          <summary>{words.missing}</summary>
          <MissingPart text={agent.unavailable} />
        </details>
      )}
    </div>
  );
}

/** What an agent needs, in English. A command can be copied: it is between backticks, or at the end. */
function MissingPart({ text }: { text: string }) {
  const parts = text.replace(/(Install it:)\s+([^`]+)$/, "$1 `$2`").split("`");
  return (
    <small lang="en">
      {parts.map((part, at) =>
        at % 2 ? (
          <span key={at} className="command">
            <code>{part}</code>
            <CopyButton text={part} />
          </span>
        ) : (
          part
        ),
      )}
    </small>
  );
}
