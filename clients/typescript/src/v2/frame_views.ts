// Converts server frames into the blocks and messages of the view.
import type {
  BlockView,
  Chunk,
  Content,
  MessageView,
  OpenRequest,
  OtherBlock,
  OtherView,
  PermissionAsked,
  RequestInput,
  TextView,
  Thinking,
  ThinkingView,
  ToolCall,
  ToolView,
} from "../generated/types.js";
import { defined } from "../view/defined.js";
import type { BlockStatus } from "../view/view_parts.js";
import type { FrameOf } from "./frames.js";

export type BlockPayload = Chunk | Thinking | ToolCall | OtherBlock;

type BlockFrame = FrameOf<
  "assistant.chunk" | "assistant.thinking" | "assistant.tool_call" | "assistant.block"
>;

// --- blocks ---------------------------------------------------------------------------------------

/** Returns a block that starts to grow, still empty. */
export function begun(frame: BlockFrame): BlockView {
  const block = whole(frame);
  if (block.type === "tool") delete block.input_text;
  else if ("text" in block) block.text = "";
  return block;
}

/** Returns a finished block or a snapshot. */
export function whole(frame: BlockFrame): BlockView {
  switch (frame.type) {
    case "assistant.chunk":
      return text(frame.payload);
    case "assistant.thinking":
      return thinking(frame.payload);
    case "assistant.tool_call":
      return toolCall(frame.payload);
    case "assistant.block":
      return other(frame.payload);
  }
}

function text(block: Chunk): TextView {
  return defined<TextView>({
    type: "text",
    id: block.block_id,
    status: status(block),
    text: block.text,
    citations: block.citations,
    blob: block.blob,
  });
}

function thinking(block: Thinking): ThinkingView {
  return defined<ThinkingView>({
    type: "thinking",
    id: block.block_id,
    status: status(block),
    text: block.text,
    signature: block.signature,
    redacted: block.redacted,
    blob: block.blob,
  });
}

function toolCall(block: ToolCall): ToolView {
  return defined<ToolView>({
    type: "tool",
    id: block.tool_use_id,
    status: status(block),
    tool_name: block.tool_name,
    tool_type: block.tool_type,
    input: block.input,
    input_text: block.input_text,
    blob: block.blob,
  });
}

function other(block: OtherBlock): OtherView {
  return defined<OtherView>({
    type: "block",
    id: block.block_id,
    status: status(block),
    block: block.block ?? null,
    blob: block.blob,
  });
}

/** Returns the tool call that asks the question. */
export function question(asked: RequestInput): ToolView {
  return defined<ToolView>({
    type: "tool",
    id: asked.question_id,
    status: "complete",
    tool_name: asked.tool_name,
    tool_type: asked.tool_type,
    input: asked.input,
  });
}

function status(block: BlockPayload): BlockStatus {
  if (block.partial) return "streaming";
  return block.aborted ? "aborted" : "complete";
}

/** Returns an empty message with the attributes that the frame tells. */
export function about(
  frame: BlockFrame | FrameOf<"assistant.request_input">,
  number?: number,
  error?: string,
): MessageView {
  const block = frame.payload;
  return defined<MessageView>({
    id: block.message_id,
    role: "assistant",
    blocks: [],
    turn_id: frame.turn_id ?? undefined,
    sequence: number,
    timestamp: number === undefined ? undefined : frame.timestamp,
    model: block.model,
    error,
    parent_tool_use_id: block.parent_tool_use_id,
    agent_id: block.agent_id,
  });
}

// --- complete messages ------------------------------------------------------------------------------

/** Returns a message to the agent. */
export function userMessage(frame: FrameOf<"user.message">): MessageView {
  const said = frame.payload;
  const name = `user-${said.message_sequence}`;
  return defined<MessageView>({
    id: name,
    role: "user",
    blocks: said.content.map((content, at) => contentBlock(`${name}:${at}`, content)),
    turn_id: frame.turn_id ?? undefined,
    sequence: said.message_sequence,
    timestamp: frame.timestamp,
    origin: said.origin,
    by: said.by,
    client_message_id: said.client_message_id,
    parent_tool_use_id: said.parent_tool_use_id,
    agent_id: said.agent_id,
    steered: said.steered_as === undefined ? undefined : true,
  });
}

function contentBlock(id: string, content: Content): BlockView {
  return content.type === "text"
    ? { ...content, id, status: "complete" }
    : { type: "block", id, status: "complete", block: content };
}

/** Returns an event about the session. */
export function news(frame: FrameOf<"session.system_event">, number: number): MessageView {
  const { subtype, text, data, parent_tool_use_id, agent_id } = frame.payload;
  return happened(frame, number, { name: "system", subtype, text, data }, { parent_tool_use_id, agent_id });
}

/** Returns the event of an interrupted turn. */
export function interruption(frame: FrameOf<"conversation.interrupted">): MessageView {
  const { message_sequence, ...data } = frame.payload;
  return happened(frame, message_sequence, { name: "interrupted", data }, {});
}

function happened(
  frame: { turn_id: number | null; timestamp: string },
  number: number,
  event: { name: string; subtype?: string | undefined; text?: string | undefined; data?: unknown },
  voice: { parent_tool_use_id?: string | undefined; agent_id?: string | undefined },
): MessageView {
  const name = `event-${number}`;
  const block = defined<BlockView>({ type: "event", id: `${name}:0`, status: "complete", ...event });
  return defined<MessageView>({
    id: name,
    role: "system",
    blocks: [block],
    turn_id: frame.turn_id ?? undefined,
    sequence: number,
    timestamp: frame.timestamp,
    ...voice,
  });
}

// --- requests -----------------------------------------------------------------------------------------

/** Returns the open request of a question. */
export function openQuestion(asked: RequestInput, turnId: number | null): OpenRequest {
  return defined<OpenRequest>({
    request_id: asked.question_id,
    kind: "question",
    tool_use_id: asked.question_id,
    tool_name: asked.tool_name,
    input: asked.input,
    turn_id: turnId ?? undefined,
    message_sequence: asked.message_sequence,
    inbox_item_id: asked.inbox_item_id ?? undefined,
    deadline_at: asked.deadline_at ?? undefined,
    questions: asked.questions.length ? asked.questions : undefined,
    required: asked.required ? undefined : false,
    metadata: asked.metadata ?? undefined,
    parent_tool_use_id: asked.parent_tool_use_id,
    agent_id: asked.agent_id,
  });
}

/** Returns the open request of a permission. */
export function openPermission(asked: PermissionAsked, turnId: number | null): OpenRequest {
  return defined<OpenRequest>({
    ...asked,
    kind: "permission",
    input: asked.input ?? undefined,
    turn_id: turnId ?? undefined,
  });
}
