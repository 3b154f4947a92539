// One conversation: its messages, and all actions of a person in it.
import type { MessageView, View } from "@turnwire/client";
import { ConversationRoot, useCurrentConversation, useStop, useTurnwire } from "@turnwire/react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { useAction, useActions } from "../app/actions";
import { composer, focusComposerIfLost } from "../app/focus";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { goTo } from "../app/navigation";
import { isTyping, useKeys } from "../app/shortcuts";
import { Composer } from "../composer/Composer";
import { appendText, deleteOtherStartedTexts, returnText } from "../composer/drafts";
import { sendStoring } from "../composer/outbox";
import { Queue } from "../composer/Queue";
import { returnFiles } from "../composer/returnedFiles";
import { useConversationActions } from "../conversations/conversationActions";
import { useInfo } from "../conversations/conversationList";
import { nameOf, useOriginal } from "../conversations/forks";
import { useReading } from "../conversations/unread";
import type { Subject } from "../inspect/Inspector";
import { Requests } from "../requests/Requests";
import { AgentName } from "./AgentMark";
import { Announcer } from "./Announcer";
import { BackgroundTasks } from "./BackgroundTasks";
import { ConnectionBanner } from "./ConnectionBanner";
import { hasPanel, supportsCommand, supportsControl } from "./capabilities";
import { OPTIONS } from "./connectionOptions";
import { createdAfter } from "./createdFiles";
import { AgentPanel, Closed, Inspector, Rewind } from "./dialogs";
import { Empty } from "./Empty";
import { ContextGauge } from "./extras";
import { FindableTimeline } from "./FindableTimeline";
import { Header } from "./Header";
import { Hints } from "./Hints";
import { useCopyActions } from "./lastCopies";
import { type MessageActions, textIn } from "./MessageActions";
import { messageAddress } from "./messageAddress";
import { Plan } from "./Plan";
import { PrintTitle } from "./PrintTitle";
import { QuoteButton } from "./QuoteButton";
import { contentFor, filesOf } from "./regenerate";
import { failedTurn, RetryTurn } from "./retry";
import { TurnChoices } from "./TurnChoices";
import { useTitle } from "./tabTitle";

/** The open dialog. */
type Over = { name: "layers"; subject: Subject } | { name: "rewind"; sequence: number } | { name: "agent" };

export function Talk({ id, at }: { id: string; at?: number | undefined }) {
  return (
    <ConversationRoot id={id} options={OPTIONS}>
      <Inside at={at} />
    </ConversationRoot>
  );
}

function Inside({ at }: { at: number | undefined }) {
  const words = useWords();
  const client = useTurnwire();
  const talk = useCurrentConversation();
  const { id, view, connection, capabilities } = talk;
  const { status } = view;
  const { showNotice, showRefusal, showingRefusal } = useNotices();
  const [over, setOver] = useState<Over>();
  const [spoken, setSpoken] = useState(0);
  const conversation = client.conversation(id, OPTIONS);
  const info = useInfo(id, true);
  const title = view.title ?? info?.title ?? undefined; // the list may have it before the connection is open
  const name = nameOf(title, info, useOriginal(info), words);
  useTitle(name, status);
  useReading(id, status, info);

  const { stop: interrupt, isStopping } = useStop(conversation, status, showRefusal);
  const stop = useCallback(async () => {
    const told = await interrupt();
    if (told?.outcome === "already_ended") showNotice(words.alreadyEnded, "calm");
    return told;
  }, [interrupt, showNotice, words]);
  const mayStop = status?.turn_id !== undefined;
  const stopOrLeave = (event: KeyboardEvent) => {
    if (isTyping(event.target) && event.target !== composer()) return false; // Escape leaves that field
    void stop();
  };
  useKeys({ stop: stopOrLeave }, mayStop);
  useKeys({ write: () => composer()?.focus() });
  const isPanel = hasPanel(capabilities, status);
  const showAgent = () => setOver({ name: "agent" });
  useKeys({ agent: showAgent }, isPanel);
  useAction(
    { name: "agent", label: words.agentPanel.title, icon: "agent", shortcut: "agent", run: showAgent },
    isPanel,
  );
  useAction(
    { name: "stop", label: words.stop, icon: "stop", shortcut: "stop", run: () => void stop() },
    mayStop,
  );
  useCopyActions(view);
  useActions("conversation", useConversationActions({ id, info, title, isHere: true }));
  const mayFork = capabilities?.fork === true;
  const mayRewind = supportsCommand(capabilities, "user.rewind");
  /** Sends a message once more, with its pictures and files: into a fork, or as a new turn. */
  const again = useCallback(
    async (to: string, message: MessageView) =>
      void showingRefusal(sendStoring(client, to, await contentFor(client, to, message))),
    [client, showingRefusal],
  );
  const actions = useMemo<MessageActions>(() => {
    /** Forks before a message. The fork has the title of its original until a person renames it. */
    const forkBefore = async (message: MessageView, then: (fork: string) => void | Promise<void>) => {
      const path = `/api/conversations/${encodeURIComponent(id)}/fork`;
      const wanted = { at_sequence: (message.sequence ?? 1) - 1, title };
      const made = await showingRefusal(client.request<{ id: string }>("POST", path, wanted));
      if (made === undefined) return;
      const fork = made.id;
      await showingRefusal(Promise.resolve(then(fork)));
      goTo({ name: "talk", id: fork });
      showNotice(words.isFork, "calm");
    };
    return {
      inspect: (message, blockId) => setOver({ name: "layers", subject: { message, blockId } }),
      addressOf: (message, blockId) => messageAddress(client, id, message, blockId),
      edit: mayFork
        ? (message, text) =>
            void forkBefore(message, async (fork) => {
              returnText(fork, text);
              returnFiles(fork, await filesOf(message));
            })
        : undefined,
      regenerate: mayFork ? (message) => void forkBefore(message, (fork) => again(fork, message)) : undefined,
      restoreFiles: mayRewind
        ? ({ sequence }) => sequence !== undefined && setOver({ name: "rewind", sequence })
        : undefined,
    };
  }, [client, id, title, mayFork, mayRewind, again, showingRefusal, showNotice, words]);
  const history = useCallback(() => saidIn(conversation.view()), [conversation]);

  const { turn: failed, prompt } = failedTurn(talk) ?? {};
  const [isRetrying, setRetrying] = useState(false);
  const retry = useMemo(
    () =>
      failed === undefined || prompt === undefined || isRetrying
        ? undefined
        : {
            turn: failed,
            run: () => {
              setSpoken((times) => times + 1);
              setRetrying(true); // files are uploaded first, which takes a while
              void showingRefusal(again(id, prompt)).then(() => setRetrying(false));
              focusComposerIfLost(); // its button is removed
            },
          },
    [failed, prompt, isRetrying, again, id, showingRefusal],
  );

  // A started answer is deleted as soon as the question is answered, by any client.
  const open = status?.requests.map(({ request_id }) => request_id).join(" ");
  useEffect(() => {
    if (connection === "connected" && open !== undefined)
      deleteOtherStartedTexts("answer", id, open.split(" "));
  }, [connection, id, open]);

  if (connection === "closed")
    return (
      <Closed
        id={id}
        at={at}
        wasHere={status !== undefined || talk.error?.code === "CONVERSATION_CLOSED"}
        meanwhile={<main className="page" id="main" />}
      />
    );
  const agent = status?.agent ?? capabilities?.agent ?? info?.agent;
  const say = (text: string) => {
    void showingRefusal(sendStoring(client, id, text));
    composer()?.focus(); // the button is removed
  };
  /** An agent that is no demonstration costs money: the person reads the message, and sends it. */
  const suggest = (text: string) => {
    returnText(id, text);
    composer()?.focus();
  };
  const quote = (text: string) => {
    appendText(id, text);
    composer()?.focus();
  };
  const closeOver = () => setOver(undefined);
  const isNew = status !== undefined && !view.messages.length && !talk.unanswered.length;
  return (
    <main className="talk" id="main">
      <Header
        id={id}
        view={view}
        connection={connection}
        info={info}
        title={title}
        name={name}
        capabilities={capabilities}
        showAgent={isPanel ? showAgent : undefined}
      />
      <ConnectionBanner snapshot={talk} />
      <Announcer snapshot={talk} />
      <PrintTitle title={name} agent={agent} at={info?.created_at} />
      {isNew ? (
        <Empty title={words.newTitle} text={words.newHint(agent ?? "")}>
          <div className="ideas" role="group" aria-label={words.ideas}>
            {(agent === "demo" ? words.demoIdeas : words.taskIdeas).map((idea) => (
              <button
                key={idea}
                type="button"
                className="small"
                onClick={() => (agent === "demo" ? say(idea) : suggest(idea))}
              >
                {idea}
              </button>
            ))}
          </div>
          <Hints hasCommands={supportsControl(capabilities, "commands")} />
        </Empty>
      ) : (
        <AgentName value={agent ?? ""}>
          <RetryTurn value={retry}>
            <FindableTimeline
              id={id}
              loadOlder={talk.loadOlder}
              snapshot={talk}
              at={at}
              spoken={spoken}
              actions={actions}
            />
          </RetryTurn>
          <QuoteButton quote={quote} />
        </AgentName>
      )}
      <div className="dock">
        <BackgroundTasks
          tasks={status?.background_tasks}
          stop={
            supportsControl(capabilities, "stop_task")
              ? (task_id) => showingRefusal(talk.control({ control: "stop_task", task_id }))
              : undefined
          }
        />
        <Plan items={view.plan} />
        {status && (
          <Queue id={id} status={status} change={(change) => showingRefusal(talk.changeQueue(change))} />
        )}
        <Requests />
        <Composer
          key={id}
          choices={
            <TurnChoices
              status={status}
              capabilities={capabilities}
              setAgent={(agent) => void showingRefusal(talk.setAgent(agent))}
              setModel={(model) => void showingRefusal(talk.setModel(model))}
              setMode={(mode) => void showingRefusal(talk.setPermissionMode(mode))}
              setOption={(option, value) =>
                void showingRefusal(talk.control({ control: "set_session_option", option, value }))
              }
            >
              <ContextGauge key={id} id={id} talk={talk} isOpen={over?.name === "agent"} open={showAgent} />
            </TurnChoices>
          }
          history={history}
          send={(content, steer) => {
            setSpoken((times) => times + 1);
            if (at !== undefined) goTo({ name: "talk", id }, "replace"); // the search is over
            return sendStoring(client, id, content, steer);
          }}
          stop={{ stop, isStopping }}
          showNotice={showNotice}
          showRefusal={showRefusal}
        />
      </div>
      {over?.name === "layers" && (
        <Inspector id={id} head={view.cursor ?? 0} subject={over.subject} close={closeOver} />
      )}
      {over?.name === "rewind" && (
        <Rewind
          conversation={conversation}
          sequence={over.sequence}
          status={status}
          created={createdAfter(view, over.sequence)}
          close={closeOver}
        />
      )}
      {over?.name === "agent" && (
        <AgentPanel id={id} status={status} capabilities={capabilities} close={closeOver} />
      )}
    </main>
  );
}

/** Returns the messages of people, the newest last. */
function saidIn(view: View): string[] {
  return view.messages
    .filter((message) => message.role === "user" && !message.origin && !message.parent_tool_use_id)
    .map(textIn)
    .filter((text, index, all) => text && text !== all[index - 1]);
}
