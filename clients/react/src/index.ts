// The entry point: hooks of the data, hooks of the controls, and components without styles.

export { type BlockProps, type BlockRenderers, CustomBlock } from "./components/block_renderers.js";
export { Composer, type ComposerProps } from "./components/composer.js";
export {
  AttachButton,
  type AttachButtonProps,
  AttachedFiles,
  type AttachedFilesProps,
  type AttachedItem,
  ComposerField,
  type ComposerFieldProps,
  ComposerRoot,
  type ComposerRootProps,
  ComposerSend,
  ComposerSteer,
  ComposerStop,
  type CurrentComposer,
  useCurrentComposer,
} from "./components/composer_parts.js";
export { Conversation, type ConversationProps } from "./components/conversation.js";
export {
  AllPermissions,
  type AllPermissionsProps,
  ConversationRequests,
  type ConversationRequestsProps,
  ConversationRoot,
  type ConversationRootProps,
  type CurrentConversation,
  useCurrentConversation,
} from "./components/conversation_parts.js";
export { Conversations, type ConversationsProps } from "./components/conversations.js";
export { Inbox, InboxList, type InboxListProps, type InboxProps } from "./components/inbox.js";
export { Block, Message, type MessageProps, ToolCard, type ToolCardProps } from "./components/message.js";
export {
  MessageBlocks,
  type MessageBlocksProps,
  MessageRoot,
  type MessageRootProps,
  ToolCardRoot,
  type ToolCardRootProps,
} from "./components/message_parts.js";
export { Permission, type PermissionProps } from "./components/permission.js";
export {
  PermissionAllow,
  PermissionAlways,
  PermissionBack,
  PermissionDeny,
  PermissionDenyWithReason,
  PermissionEdit,
  PermissionField,
  PermissionForm,
  PermissionProblem,
  PermissionRoot,
  type PermissionRootProps,
  PermissionSubmit,
  useCurrentPermission,
} from "./components/permission_parts.js";
export { Plan, type PlanProps } from "./components/plan.js";
export { Question, type QuestionProps } from "./components/question.js";
export {
  QuestionMissing,
  QuestionOption,
  type QuestionOptionProps,
  QuestionOwnAnswer,
  type QuestionOwnAnswerProps,
  QuestionRoot,
  type QuestionRootProps,
  QuestionSkip,
  QuestionSubmit,
  useCurrentQuestion,
} from "./components/question_parts.js";
export { VisibleText } from "./components/visible_text.js";
export type { Words } from "./components/words.js";
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
export { isObject, textIn } from "./headless/json.js";
export type { PastedText } from "./headless/pasted_text.js";
export {
  type Decide,
  type EditProblem,
  type PermissionFormKind,
  type PermissionOptions,
  type UsedPermission,
  usePermission,
} from "./headless/permission.js";
export { type UsedPermissions, usePermissions } from "./headless/permissions.js";
export { type PlanItem, planItems } from "./headless/plan.js";
export {
  type Answer,
  type QuestionOptions,
  type UsedPart,
  type UsedQuestion,
  useQuestion,
} from "./headless/question.js";
export type { StartedReply } from "./headless/started_reply.js";
export { type ToolState, toolStateOf } from "./headless/tool_state.js";
export { type UnconfirmedMessage, unconfirmedIn } from "./headless/unconfirmed.js";
export { type AttachedFile, upload } from "./headless/uploads.js";
export * from "./hooks.js";
