// The lists that are live: the conversations and the inbox. Everything of a client shares one stream of changes.
import { Changes } from "./changes.js";
import type { BaseClient } from "./client.js";
import { Alarm } from "./connection/alarm.js";
import { ConversationList, type ListFilter, queryOf, TOGETHER } from "./conversation_list.js";

export type { Activity, ConversationListSnapshot, ListFilter } from "./conversation_list.js";
export type { Changes, ConversationList };

/** What the lists of a client share, made when one is first needed: other programs do not load it. */
const changes = /* @__PURE__ */ new WeakMap<BaseClient, Changes>();
const lists = /* @__PURE__ */ new WeakMap<BaseClient, Map<string, ConversationList>>();

/** Returns the stream of changes of a client, one for all its lists and its inbox. */
export function changesOf(client: BaseClient): Changes {
  let found = changes.get(client);
  if (!found) {
    found = new Changes(client.http);
    changes.set(client, found);
  }
  return found;
}

/** Returns the list of these conversations, one for each filter. It follows the server while it has subscribers. */
export function conversationsOf(client: BaseClient, filter: ListFilter = {}): ConversationList {
  const all = lists.get(client) ?? new Map<string, ConversationList>();
  lists.set(client, all);
  const query = queryOf(filter);
  let found = all.get(query);
  if (!found) {
    found = new ConversationList(client.http, changesOf(client), query);
    all.set(query, found);
  }
  return found;
}

/** Calls `listener` after each change of the inbox, which learns of them from the stream of changes. */
export function followInbox(client: BaseClient, listener: () => void): () => void {
  const { inbox } = client;
  const stop = inbox.subscribe(listener, 1);
  const soon = new Alarm(() => void inbox.refresh());
  const leave = changesOf(client).subscribe(() => soon.within(TOGETHER));
  return () => {
    stop();
    leave();
    soon.cancel();
  };
}
