// The exports of the package, except Client, which differs between browsers and Node.js.
export type { BaseClient, ClientOptions } from "./client.js";
export { Closed, Refused, TurnwireError } from "./errors.js";
export type * from "./generated/types.js";
export type { ConversationInfo, Http, InboxItem, NewConversation } from "./http.js";
export type { Inbox, InboxSnapshot } from "./inbox.js";
export { pageHeaders } from "./page_key.js";
export type { RpcOptions, RpcResults, RpcSession, RpcSnapshot } from "./rpc/session.js";
export { readRpcMessage, Transcript } from "./rpc/transcript.js";
export type { RpcTurn } from "./rpc/turn.js";
export type { Conversation, ConversationOptions, SentContent, Snapshot } from "./v2/conversation.js";
export { readFrame } from "./v2/frames.js";
export { ViewReducer } from "./v2/reducer.js";
