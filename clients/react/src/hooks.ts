// React hooks. A component renders at most once per animation frame. A memoized child renders only
// if its part of the view has changed, because unchanged parts are the same objects.

import type {
  BaseClient,
  Conversation as ClientConversation,
  Inbox as ClientInbox,
  ConversationOptions,
  InboxSnapshot,
  Snapshot,
} from "@turnwire/client";
import {
  type ConversationList,
  type ConversationListSnapshot,
  conversationsOf,
  followInbox,
  type ListFilter,
} from "@turnwire/client/lists";
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
import { type Words, WordsContext } from "./components/words.js";

const Context = createContext<BaseClient | undefined>(undefined);

export interface TurnwireProviderProps {
  client: BaseClient;
  /** Words of the components in another language. Keep the same object between renderings. */
  words?: Partial<Words> | undefined;
  children?: ReactNode;
}

/** Provides the client for the hooks below it, and the words for the components. */
export function TurnwireProvider({ client, words, children }: TurnwireProviderProps): ReactElement {
  const inside = createElement(WordsContext.Provider, { value: words }, children);
  return createElement(Context.Provider, { value: client }, inside);
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

/** Returns the inbox, which is live while a component uses it. */
export function useInbox(): UsedInbox {
  const client = useTurnwire();
  const { inbox } = client;
  const subscribe = useCallback((listener: () => void) => followInbox(client, listener), [client]);
  const look = () => inbox.snapshot;
  const snapshot = useSyncExternalStore(subscribe, look, look);
  return useMemo(() => {
    const { answer, decide, refresh } = inbox;
    return { ...snapshot, answer, decide, refresh };
  }, [inbox, snapshot]);
}

/** The list of conversations, and the commands to load more of it. */
export type UsedConversations = ConversationListSnapshot & Pick<ConversationList, "loadMore" | "refresh">;

/** Returns conversations: pinned ones first, then the newest first. The list is live while a component uses it. */
export function useConversations(filter: ListFilter = {}): UsedConversations {
  const list = conversationsOf(useTurnwire(), filter);
  const look = () => list.snapshot;
  const snapshot = useSyncExternalStore(list.subscribe, look, look);
  return useMemo(() => {
    const { loadMore, refresh } = list;
    return { ...snapshot, loadMore, refresh };
  }, [list, snapshot]);
}
