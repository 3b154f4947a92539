// React hooks. A component renders at most once per animation frame. A memoized child renders only
// if its part of the view has changed, because unchanged parts are the same objects.
import {
  createContext,
  createElement,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useMemo,
  useSyncExternalStore,
} from "react";
import { Changes } from "./changes.js";
import type { BaseClient } from "./client.js";
import { ConversationList, type ConversationListSnapshot } from "./conversation_list.js";
import type { Inbox as ClientInbox, InboxSnapshot } from "./inbox.js";
import type { Conversation as ClientConversation, ConversationOptions, Snapshot } from "./v2/conversation.js";

const Context = createContext<BaseClient | undefined>(undefined);

/** Provides the client for the hooks below it. */
export function TurnwireProvider(props: { client: BaseClient; children?: ReactNode }): ReactElement {
  return createElement(Context.Provider, { value: props.client }, props.children);
}

/** Returns the client of the nearest TurnwireProvider. */
export function useTurnwire(): BaseClient {
  const client = useContext(Context);
  if (client === undefined)
    throw new Error("There is no client: put <TurnwireProvider client={...}> around it.");
  return client;
}

/** The snapshot of a conversation, and all its commands. */
export type UsedConversation = Snapshot &
  Pick<
    ClientConversation,
    | "send"
    | "answer"
    | "decide"
    | "interrupt"
    | "changeQueue"
    | "rewind"
    | "forgetRule"
    | "setAgent"
    | "setModel"
    | "setPermissionMode"
    | "setMaxThinkingTokens"
    | "control"
    | "loadOlder"
  >;

/**
 * Returns a conversation that is connected while a component uses it. The first `options` count.
 */
export function useConversation(id: string, options?: ConversationOptions): UsedConversation {
  const client = useTurnwire();
  const tail = options?.tail;
  const conversation = useMemo(
    () => client.conversation(id, tail === undefined ? {} : { tail }),
    [client, id, tail],
  );
  const subscribe = useCallback(
    (listener: () => void) => {
      const stop = conversation.subscribe(listener);
      const letGo = conversation.hold();
      return () => {
        stop();
        letGo();
      };
    },
    [conversation],
  );
  const look = () => conversation.snapshot;
  const snapshot = useSyncExternalStore(subscribe, look, look);
  return useMemo(() => {
    const { send, answer, decide, interrupt, changeQueue, rewind, loadOlder } = conversation;
    const { forgetRule, setAgent, setModel, setPermissionMode, setMaxThinkingTokens, control } = conversation;
    const doing = { send, answer, decide, interrupt, changeQueue, rewind, loadOlder };
    const choosing = { forgetRule, setAgent, setModel, setPermissionMode, setMaxThinkingTokens, control };
    return { ...snapshot, ...doing, ...choosing };
  }, [conversation, snapshot]);
}

/** The open requests of all conversations, and the commands to answer them. */
export type UsedInbox = InboxSnapshot & Pick<ClientInbox, "answer" | "decide" | "refresh">;

/** Returns the inbox, which updates while a component uses it. */
export function useInbox(): UsedInbox {
  const { inbox } = useTurnwire();
  const look = () => inbox.snapshot;
  const snapshot = useSyncExternalStore(inbox.subscribe, look, look);
  return useMemo(() => {
    const { answer, decide, refresh } = inbox;
    return { ...snapshot, answer, decide, refresh };
  }, [inbox, snapshot]);
}

/** The list of conversations, and the commands to load more of it. */
export type UsedConversations = ConversationListSnapshot & Pick<ConversationList, "loadMore" | "refresh">;

/** Returns the conversations, the newest first. The list is live while a component uses it. */
export function useConversations(options?: { archived?: boolean }): UsedConversations {
  const client = useTurnwire();
  const list = listsOf(client)[options?.archived ? "archived" : "current"];
  const look = () => list.snapshot;
  const snapshot = useSyncExternalStore(list.subscribe, look, look);
  return useMemo(() => {
    const { loadMore, refresh } = list;
    return { ...snapshot, loadMore, refresh };
  }, [list, snapshot]);
}

interface Lists {
  readonly current: ConversationList;
  readonly archived: ConversationList;
}

/** Made for a client when a hook first needs them, so that other programs do not load them. */
const lists = /* @__PURE__ */ new WeakMap<BaseClient, Lists>();

function listsOf(client: BaseClient): Lists {
  let found = lists.get(client);
  if (!found) {
    const changes = new Changes(client.http);
    const current = new ConversationList(client.http, changes);
    found = { current, archived: new ConversationList(client.http, changes, true) };
    lists.set(client, found);
  }
  return found;
}
