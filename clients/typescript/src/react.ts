// The entry point for React: hooks of the data, hooks of the controls, and components without styles.

export type { Changes } from "./changes.js";
export { type BlockProps, type BlockRenderers, CustomBlock } from "./components/block_renderers.js";
export { Composer, type ComposerProps } from "./components/composer.js";
export { Conversation, type ConversationProps } from "./components/conversation.js";
export { Conversations, type ConversationsProps } from "./components/conversations.js";
export { Inbox, InboxList, type InboxListProps, type InboxProps } from "./components/inbox.js";
export { Block, Message, type MessageProps, ToolCard, type ToolCardProps } from "./components/message.js";
export { Permission, type PermissionProps } from "./components/permission.js";
export { Question, type QuestionProps } from "./components/question.js";
export { VisibleText } from "./components/visible_text.js";
export type { Words } from "./components/words.js";
export type { Activity, ConversationListSnapshot, ListFilter } from "./conversation_list.js";
export { type Action, type OnRefused, useAction } from "./headless/action.js";
export {
  type AttachmentOptions,
  messageOf,
  pasteFiles,
  type TextFile,
  type UsedAttachments,
  useAttachments,
} from "./headless/attachments.js";
export { type Picture, picturesIn } from "./headless/blobs.js";
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
export type { PastedText } from "./headless/pasted_text.js";
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
export { type AttachedFile, upload } from "./headless/uploads.js";
export * from "./hooks.js";
