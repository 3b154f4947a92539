// The entry point for React: hooks, and components without styles.
export { Composer, type ComposerProps } from "./components/composer.js";
export { Conversation, type ConversationProps } from "./components/conversation.js";
export { Inbox, type InboxProps } from "./components/inbox.js";
export {
  type BlockRenderers,
  Message,
  type MessageProps,
  ToolCard,
  type ToolCardProps,
} from "./components/message.js";
export { Permission, type PermissionProps, Question, type QuestionProps } from "./components/request.js";
export type { ConversationListSnapshot } from "./conversation_list.js";
export * from "./hooks.js";
