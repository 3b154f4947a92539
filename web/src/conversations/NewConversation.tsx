// A new conversation: its agent, its folder and its first message.
import type { Capabilities } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import { useEffect, useRef, useState } from "react";
import { readStored, store } from "../app/browserStorage";
import { isTouch, useInitialFocus } from "../app/focus";
import { useWords } from "../app/language";
import { lookUp } from "../app/lookup";
import { useNotices } from "../app/Notices";
import { goTo, usePlace } from "../app/navigation";
import { PageHeader } from "../app/PageHeader";
import { notifyChange } from "../app/serverChanges";
import { AttachButton, Attachments, pasteImages, useDroppedImages } from "../composer/Attachments";
import { draftName, returnText, useDraft } from "../composer/drafts";
import { pictureOf, useImageUploads } from "../composer/imageUploads";
import { sendStoring } from "../composer/outbox";
import { useBypassConfirmation } from "../talk/BypassConfirmation";
import { useConversations } from "./conversationList";

interface Agent {
  name: string;
  /** One line in English; empty if the agent has none. */
  description: string;
  version: string | null;
  /** What it can do beyond messages, answers and stops. `text` is English. */
  abilities: { name: string; text: string }[];
  ready: boolean;
  unavailable: string | null;
  default: boolean;
  capabilities: Capabilities;
}

export function NewConversation() {
  const words = useWords();
  const isHome = usePlace().name === "home";
  const client = useTurnwire();
  const { showNotice, showingRefusal } = useNotices();
  const { refresh } = useConversations();
  const [agents, setAgents] = useState<Agent[]>();
  const [name, setName] = useState(readStored("agent") ?? "");
  const [model, setModel] = useState("");
  const [mode, setMode] = useState("");
  const careful = useBypassConfirmation(setMode);
  const [cwd, setCwd] = useState("");
  const { text: first, latest, write } = useDraft(draftName());
  const [isBusy, setBusy] = useState(false);
  const attached = useImageUploads(client, undefined, showNotice);
  const field = useRef<HTMLTextAreaElement>(null);
  useInitialFocus(field);
  const isGone = useRef(false);
  useEffect(() => {
    isGone.current = false;
    void showingRefusal(client.request<{ agents: Agent[] }>("GET", "/api/agents")).then((told) => {
      if (!isGone.current && told) setAgents(told.agents);
    });
    return () => {
      isGone.current = true;
    };
  }, [client, showingRefusal]);
  const ready = agents?.filter((each) => each.ready) ?? [];
  const agent = ready.find((each) => each.name === name) ?? ready.find((each) => each.default) ?? ready[0];

  // While the agents are not known yet, a picture is taken; it is refused later if it has to be.
  const mayAttach = agents === undefined || agent?.capabilities.images === true;
  const { take, isOver } = useDroppedImages(attached.add, mayAttach, showNotice);

  const begin = async (written: string) => {
    if (!agent || isBusy) return;
    if (attached.all.length && !mayAttach) return showNotice(words.noPictures);
    setBusy(true);
    store("agent", agent.name);
    const id = await showingRefusal(
      client.create({
        agent: agent.name,
        ...(model ? { model } : {}),
        ...(mode ? { permission_mode: mode } : {}),
        ...(cwd.trim() ? { cwd: cwd.trim() } : {}),
      }),
    );
    const pictures = id && (await showingRefusal(attached.bringTo(id)));
    setBusy(false);
    if (id === undefined) return;
    const text = written.trim();
    // Keeps text that was written after an idea was chosen.
    if (latest.current === written) write("", "now");
    if (!pictures)
      returnText(id, text); // the creation was refused: keep the text for the next one
    else if (text || pictures.length) {
      const said = text ? [{ type: "text" as const, text }] : [];
      const content = pictures.length ? [...said, ...pictures.map(pictureOf)] : text;
      void showingRefusal(sendStoring(client, id, content));
    }
    goTo({ name: "talk", id }, "replace");
    notifyChange();
    void refresh();
  };
  const { models = [], permission_modes = [] } = agent?.capabilities ?? {};
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
        <label className="wide-field">
          <span>{words.firstWords}</span>
          <textarea
            ref={field}
            rows={4}
            value={first}
            placeholder={words.placeholder}
            onChange={(event) => write(event.target.value)}
            onPaste={(event) => pasteImages(event, take, mayAttach)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || isTouch() || event.nativeEvent.isComposing)
                return;
              event.preventDefault();
              void begin(first);
            }}
          />
        </label>
        <Attachments all={attached.all} remove={attached.remove} />
        {agent?.name === "demo" && (
          <div className="ideas" role="group" aria-label={words.ideas}>
            {words.demoIdeas.map((idea) => (
              <button key={idea} type="button" className="small" onClick={() => void begin(idea)}>
                {idea}
              </button>
            ))}
          </div>
        )}
        <div className="fields">
          <label>
            <span>{words.agent}</span>
            <select value={agent?.name ?? ""} onChange={(event) => setName(event.target.value)}>
              {agents?.map((each) => (
                <option key={each.name} value={each.name} disabled={!each.ready}>
                  {each.name}
                  {each.ready ? "" : ` (${words.notReady})`}
                </option>
              ))}
            </select>
          </label>
          {models.length > 0 && (
            <label>
              <span>{words.model}</span>
              <select value={model} onChange={(event) => setModel(event.target.value)}>
                <option value="">{words.defaultModel}</option>
                {models.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </label>
          )}
          {permission_modes.length > 0 && (
            <label>
              <span>{words.permissionMode}</span>
              <select value={mode} onChange={(event) => careful.choose(event.target.value)}>
                <option value="">{words.defaultMode}</option>
                {permission_modes.map((each) => (
                  <option key={each}>{each}</option>
                ))}
              </select>
            </label>
          )}
          <label className="whole">
            <span>{words.directory}</span>
            <input
              value={cwd}
              spellCheck={false}
              placeholder={words.defaultDirectory}
              onChange={(event) => setCwd(event.target.value)}
            />
          </label>
        </div>
        {agent && <AboutAgent agent={agent} />}
        {agents
          ?.filter((each) => !each.ready)
          .map((each) => (
            <p key={each.name} className="muted">
              {each.name} ({words.notReady}):{" "}
              <span lang="en">{[each.description, each.unavailable].filter(Boolean).join(" ")}</span>
            </p>
          ))}
        <div className="choices">
          <button type="submit" className="primary" disabled={!agent || isBusy}>
            {words.begin}
          </button>
          {mayAttach && <AttachButton take={take} />}
        </div>
      </form>
      {careful.dialog}
    </main>
  );
}

/** What the chosen agent is, its version, and what it can do. */
function AboutAgent({ agent }: { agent: Agent }) {
  const words = useWords();
  const able = agent.abilities.map(({ name, text }) => lookUp(words.abilities, name) ?? text);
  return (
    <p className="muted about-agent">
      <span lang="en">{agent.description}</span> {agent.version && words.versionOf(agent.version)}
      {able.length > 0 && <small>{words.canDo(able.join(words.comma))}</small>}
    </p>
  );
}
