// The entry point for React: hooks of the data, hooks of the controls, and components without styles.
export { Composer, type ComposerProps } from "./components/composer.js";
export { Conversation, type ConversationProps } from "./components/conversation.js";
export { Inbox, InboxList, type InboxListProps, type InboxProps } from "./components/inbox.js";
export {
  Block,
  type BlockProps,
  type BlockRenderers,
  Message,
  type MessageProps,
  ToolCard,
  type ToolCardProps,
} from "./components/message.js";
export { Permission, type PermissionProps } from "./components/permission.js";
export { Question, type QuestionProps } from "./components/question.js";
export { VisibleText } from "./components/visible_text.js";
export type { ConversationListSnapshot } from "./conversation_list.js";
export { type Action, type OnRefused, useAction } from "./headless/action.js";
export {
  type Attached,
  type ComposerOptions,
  type Draft,
  isTouch,
  joinTexts,
  type UsedComposer,
  type UsedStop,
  useComposer,
  useStop,
  useUnsavedDraft,
} from "./headless/composer.js";
export { escapeInvisible, hasInvisible } from "./headless/invisible.js";
export {
  type Decide,
  type EditProblem,
  type PermissionForm,
  type PermissionOptions,
  type UsedPermission,
  usePermission,
} from "./headless/permission.js";
export {
  type Answer,
  type QuestionOptions,
  type UsedPart,
  type UsedQuestion,
  useQuestion,
} from "./headless/question.js";
export type { StartedReply } from "./headless/started_reply.js";
export * from "./hooks.js";
