// Generated from schema/ by tools/generate.mjs: `make schema` writes it anew. Do not edit.

/** A client frame was accepted, and its effect is durable. */
export interface Accepted {
  /** session.set_agent */
  agent?: string;
  client_message_id?: string;
  /** an answer or a decision: how the agent gets it */
  delivered_as?: string;
  /** the frame was sent before: this repeats the first answer */
  duplicate?: boolean;
  /** user.rewind: the files that could not be restored */
  failed?: Array<string>;
  /** user.rewind: the files that were restored, or would be */
  files?: Array<string>;
  /** user.message: the queue was held, and resumes now */
  held?: boolean;
  /** session.set_max_thinking_tokens */
  max_thinking_tokens?: number;
  /** session.set_permission_mode */
  mode?: string;
  /** session.set_model */
  model?: string;
  /** user.interrupt */
  outcome?: "requested" | "already_ended" | (string & {});
  /** user.message: its id in the queue; user.queue: the queued message */
  queue_id?: string;
  /** an answer or a decision: the request */
  request_id?: string;
  /** session.control: a ControlResult */
  result?: Done | McpServers | ContextUsed | Models | Commands | SessionOptions | Rewound | unknown;
  /** session.forget_rule */
  rule_id?: string;
  /** the turn that a message starts or is to go into, or that stops */
  turn_id?: number;
}

/** Any other block. Durable when finished. */
export interface AssistantBlock {
  type: "assistant.block";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: OtherBlock;
}

/** Text. Durable when finished. */
export interface AssistantChunk {
  type: "assistant.chunk";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Chunk;
}

/** The turn has ended. Exactly one for each turn, stored with the turn. */
export interface AssistantComplete {
  type: "assistant.complete";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: TurnEnd;
}

/** Blocks that will never be finished. */
export interface AssistantDiscarded {
  type: "assistant.discarded";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Discarded;
}

/** A request for a permission. Durable. */
export interface AssistantPermissionRequest {
  type: "assistant.permission_request";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: PermissionAsked;
}

/** A question. Durable. */
export interface AssistantRequestInput {
  type: "assistant.request_input";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: RequestInput;
}

/** A question or a permission request has ended. Durable. */
export interface AssistantRequestResolved {
  type: "assistant.request_resolved";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: RequestResolved;
}

/** Reasoning. Durable when finished. */
export interface AssistantThinking {
  type: "assistant.thinking";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Thinking;
}

/** A tool call. Durable when finished. */
export interface AssistantToolCall {
  type: "assistant.tool_call";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: ToolCall;
}

/** Progress of a running tool. */
export interface AssistantToolProgress {
  type: "assistant.tool_progress";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: ToolProgressed;
}

/** A tool's result. Durable. */
export interface AssistantToolResult {
  type: "assistant.tool_result";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: ToolResult;
}

/** Work that continues after the turn that started it. */
export interface BackgroundTask {
  task_id: string;
  description?: string;
  /** the agent's name for it: `agent`, `command`, ... */
  kind?: string;
  /** the agent's name for it: `running`, ... */
  status?: string;
  /** the call that started it */
  tool_use_id?: string;
  /** the turn that started it */
  turn_id?: number;
}

/** A reference to content that is stored separately from the conversation. */
export interface Blob {
  blob_id: string;
  /** the server always sets it; optional for a client */
  mime_type?: string;
  /** bytes; the server always sets it, optional for a client */
  size?: number;
}

/** A budget: the amount spent and the limit. */
export interface Budget {
  /** dollars */
  spent: number;
  limit: number;
}

/** The commands and options of this connection. A front end offers nothing else. */
export interface Capabilities {
  /** the agent's name: `claude`, `demo`, ... */
  agent: string;
  /** the client frames that are not rejected with NOT_SUPPORTED */
  commands: Array<string>;
  /** for session.control */
  controls?: Array<string>;
  /** types of files that a user.message may contain, as in an Accept header */
  files?: Array<string>;
  /** the conversation can be forked; false only if its agent is not installed */
  fork?: boolean;
  /** a user.message may contain images */
  images?: boolean;
  /** for session.set_model, if the agent lists them */
  models?: Array<string>;
  /** the `offers` of the status that these capabilities include */
  offers?: string;
  /** for session.set_permission_mode */
  permission_modes?: Array<string>;
  session_options?: Array<SessionOption>;
  /** a user.message may go into the running turn */
  steer?: boolean;
}

/** Text. */
export interface Chunk {
  /** the message's id and the index, or a tool call's id */
  block_id: string;
  /** the agent's id of the model message */
  message_id: string;
  /** the position of the block in its message */
  index: number;
  /** true: a piece of a growing block; false: the whole block, finished */
  partial: boolean;
  /** partial: the new text; snapshot: all so far; finished: all */
  text: string;
  /** ended before it was finished */
  aborted?: boolean;
  /** that sub-agent's id */
  agent_id?: string;
  /** the whole text, if `text` is only its beginning */
  blob?: Blob;
  /** counts the pieces of a block from 1; on partials and snapshots */
  chunk_seq?: number;
  /** the sources of the text */
  citations?: Array<unknown>;
  /** the text reports this API error: `rate_limit`, ... */
  error?: string;
  /** always on a finished block */
  message_sequence?: number;
  model?: string;
  /** the tool call of the sub-agent that wrote this */
  parent_tool_use_id?: string;
  /** all so far, up to chunk_seq */
  snapshot?: boolean;
}

/** The available slash commands. */
export interface Commands {
  control: "commands";
  commands: Array<SlashCommand>;
}

/** A part of the context. */
export interface ContextPart {
  /** for a person */
  name: string;
  tokens: number;
  /** the agent's name for it: `used`, `free`, `deferred` */
  kind?: string;
}

/** The size of the context. */
export interface ContextUsed {
  control: "context_usage";
  total_tokens: number;
  max_tokens?: number;
  model?: string;
  parts?: Array<ContextPart>;
  /** of max_tokens */
  percentage?: number;
}

/** The agent has handled the control; the payload holds its result. */
export interface ControlAck {
  type: "session.control.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** A turn was interrupted. Durable. */
export interface ConversationInterrupted {
  type: "conversation.interrupted";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Interrupted;
}

/** A change of the conversation. An absent field has not changed. */
export interface ConversationNews {
  /** empty: the title was removed */
  title?: string;
  totals?: Totals;
}

/** The title or the totals changed. */
export interface ConversationUpdated {
  type: "conversation.updated";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: ConversationNews;
}

/** Blocks that were growing and will never be finished. A client removes them. */
export interface Discarded {
  block_ids: Array<string>;
  /** that sub-agent's id */
  agent_id?: string;
  /** the tool call of the sub-agent that wrote them */
  parent_tool_use_id?: string;
  /** abandoned, restarted, replaced, turn_ended, stream_ended */
  reason?: string;
}

/** The control was carried out; it has no further result. */
export interface Done {
  control: "done";
}

/** A client frame was refused, or the connection must end. */
export interface ErrorPayload {
  code: "AGENT_ERROR" | "AGENT_UNAVAILABLE" | "BUDGET_EXCEEDED" | "CHAT_PROTOCOL_DISABLED" | "CONVERSATION_CLOSED" | "CONVERSATION_INTERRUPTED" | "CONVERSATION_NOT_FOUND" | "DUPLICATE_INPUT_RESPONSE" | "FORBIDDEN" | "HEARTBEAT_TIMEOUT" | "IDEMPOTENCY_CONFLICT" | "INPUT_REQUIRED" | "INPUT_TIMEOUT" | "INTERNAL_ERROR" | "INVALID_FORMAT" | "INVALID_PAYLOAD" | "INVALID_QUESTION_ID" | "NOT_A_FORK_POINT" | "NOT_SUPPORTED" | "NO_PENDING_INPUT" | "PAYLOAD_TOO_LARGE" | "PROTOCOL_VERSION_UNSUPPORTED" | "QUEUE_ITEM_NOT_FOUND" | "RATE_LIMITED" | "STORAGE_UNAVAILABLE" | "TURN_QUEUE_FULL" | "UNAUTHORIZED" | "UNKNOWN_MESSAGE_TYPE" | (string & {});
  /** an explanation for people */
  message: string;
  /** a retry of the same frame may succeed later */
  retryable: boolean;
  what_to_do: string;
  /** the refused frame; absent: no single frame */
  client_message_id?: string;
  /** details, by code */
  data?: Record<string, unknown>;
}

/** A file, by name, without its content. */
export interface FileContent {
  type: "file_ref";
  path: string;
  /** its content, if it was sent */
  blob?: Blob;
  mime_type?: string;
  /** bytes */
  size?: number;
}

/** The rule was taken back. session.state has the number of those that are left. */
export interface ForgetRuleAck {
  type: "session.forget_rule.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** The server is alive. */
export interface HeartbeatAck {
  client_message_id?: string;
}

/** An image: in a blob, inline, or by URL. */
export interface ImageContent {
  type: "image";
  blob?: Blob;
  /** base64 */
  data?: string;
  mime_type?: string;
  url?: string;
}

/** The answer was accepted; a question takes only one. */
export interface InputResponseAck {
  type: "user.input_response.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** The interrupt was accepted; conversation.interrupted reports its result. */
export interface InterruptAck {
  type: "user.interrupt.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** The receipt of a stopped turn: the request and its effect. */
export interface Interrupted {
  /** `user`, `disconnect`, `agent`, `agent_lost`, `server_restart`, `server_stopped`, `archived`, `deleted` */
  reason: string;
  message_sequence: number;
  /** the agent confirmed the stop */
  acknowledged?: boolean;
  /** the user who stopped it */
  by?: string;
  /** the agent was ended by force */
  forced?: boolean;
  /** the agent's process was killed, or ended, before it confirmed the stop */
  lost?: boolean;
  /** processes that were ended, or could not be */
  processes?: Array<Process>;
  /** what happened to the queued messages */
  queue?: "hold" | "continue" | "clear" | (string & {});
  /** ISO 8601, UTC */
  requested_at?: string;
}

/** Limits of this connection. */
export interface Limits {
  /** of a client frame */
  max_frame_bytes: number;
  /** maximum number of queued messages */
  max_queue: number;
  /** a client that is silent for more than twice this is disconnected */
  heartbeat_seconds: number;
}

/** An MCP server, as the agent reports it. */
export interface McpServer {
  name: string;
  /** `connected`, `failed`, `disabled`, `pending`, `needs-auth`, ... */
  status: string;
  /** why it failed */
  error?: string;
  /** the agent requires it: it cannot be switched off */
  fixed?: boolean;
  tools?: Array<string>;
  /** `stdio`, `http`, `sdk`, ... */
  transport?: string;
}

/** The status of the MCP servers. */
export interface McpServers {
  control: "mcp_status";
  servers: Array<McpServer>;
}

/** The message is in the log, or in the queue. */
export interface MessageAck {
  type: "user.message.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** An event that this client missed. */
export interface MessageReplay {
  type: "message.replay";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Replay;
}

/** A model that may be chosen. */
export interface Model {
  /** for `session.set_model` */
  model: string;
  description?: string;
  /** for a person */
  name?: string;
  /** the current model, if `model` is an alias */
  resolved?: string;
}

/** The models that may be chosen. */
export interface Models {
  control: "models";
  models: Array<Model>;
}

/** A question or a permission that waits for a person. */
export interface OpenRequest {
  /** a question's is its question_id */
  request_id: string;
  kind: "question" | "permission" | (string & {});
  /** the tool call that waits */
  tool_use_id: string;
  tool_name: string;
  /** the id of that sub-agent */
  agent_id?: string;
  /** of a permission: the path that made the agent ask */
  blocked_path?: string;
  /** ISO 8601, UTC; absent: no deadline */
  deadline_at?: string;
  decision_only?: boolean;
  /** of a permission */
  description?: string;
  inbox_item_id?: string;
  /** the input that the agent sent, or wants to run, unchanged */
  input?: unknown;
  /** its entry in the log */
  message_sequence?: number;
  /** of a question: additional data of the agent */
  metadata?: Record<string, unknown>;
  /** the tool call whose sub-agent asks */
  parent_tool_use_id?: string;
  /** of a question */
  questions?: Array<Question>;
  /** of a permission: why the agent has to ask */
  reason?: string;
  /** of a question: an empty answer is rejected */
  required?: boolean;
  /** of a permission: rules the agent offers to remember */
  suggestions?: Array<unknown>;
  /** of a permission */
  title?: string;
  /** the turn that waits */
  turn_id?: number;
}

/** One value of an option. */
export interface OptionValue {
  value: string;
  description?: string;
  /** for people; None: the value is its own name */
  name?: string;
}

/** A block that is neither text nor thinking nor a tool call. */
export interface OtherBlock {
  /** the message's id and the index, or a tool call's id */
  block_id: string;
  /** the agent's id of the model message */
  message_id: string;
  /** the position of the block in its message */
  index: number;
  /** true: a piece of a growing block; false: the whole block, finished */
  partial: boolean;
  /** ended before it was finished */
  aborted?: boolean;
  /** that sub-agent's id */
  agent_id?: string;
  /** the block as JSON, if it is too large for the frame */
  blob?: Blob;
  /** a content block */
  block?: unknown;
  /** counts the pieces of a block from 1; on partials and snapshots */
  chunk_seq?: number;
  /** always on a finished block */
  message_sequence?: number;
  model?: string;
  /** the tool call of the sub-agent that wrote this */
  parent_tool_use_id?: string;
  /** all so far, up to chunk_seq */
  snapshot?: boolean;
}

/** Content of an unknown kind, kept unchanged. */
export interface OtherContent {
  type: "unknown";
  /** the tag of the object */
  originalType: string;
  /** the whole object */
  data: unknown;
}

/** The agent asks for permission to run a tool. */
export interface PermissionAsked {
  request_id: string;
  /** the call that waits */
  tool_use_id: string;
  tool_name: string;
  /** the exact input that would run */
  input: unknown;
  message_sequence: number;
  /** the id of that sub-agent */
  agent_id?: string;
  /** the path that made the agent ask */
  blocked_path?: string;
  /** ISO 8601, UTC; the permission is then denied */
  deadline_at?: string;
  decision_only?: boolean;
  description?: string;
  inbox_item_id?: string;
  /** the tool call whose sub-agent asks */
  parent_tool_use_id?: string;
  /** why the agent has to ask */
  reason?: string;
  /** rules the agent offers to remember */
  suggestions?: Array<unknown>;
  title?: string;
}

/** The decision was accepted; a request takes only one. */
export interface PermissionResponseAck {
  type: "user.permission_response.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** A process that was ended, or could not be. */
export interface Process {
  pid: number;
  /** it could not be ended, and may still be running */
  left?: boolean;
  name?: string;
  /** the signal that ended it: `SIGTERM`, `SIGKILL` */
  signal?: string;
}

/** One question of a request, which may have several. */
export interface Question {
  /** the key of its answer */
  id: string;
  question: string;
  /** free text is allowed; otherwise the answer is one of the options */
  free_text?: boolean;
  /** a short label */
  header?: string;
  /** several options may be chosen */
  multi?: boolean;
  options?: Array<QuestionOption>;
  /** of several questions: the others can be left out */
  required?: boolean;
}

/** One option of a question. */
export interface QuestionOption {
  label: string;
  description?: string;
}

/** The queue was changed; session.state shows it. */
export interface QueueAck {
  type: "user.queue.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** A message in the queue. */
export interface QueueItem {
  queue_id: string;
  content: Array<Content>;
  /** the user who sent it */
  by?: string;
  /** the sender's own id of the message */
  client_message_id?: string;
  /** ISO 8601, UTC */
  created_at?: string;
  /** the running turn that it is to go into; absent: it has its own turn */
  steers?: number;
}

/** An event that was sent before. */
export interface Replay {
  /** null: the end of a turn, which has no number */
  message_sequence: number | null;
  /** the frame as it was first sent, except for its sequence */
  event: ServerFrame;
}

/** The replay is complete. */
export interface ReplayComplete {
  /** the client has the log up to this number */
  through: number;
}

/** The agent asks a question. Replaces the tool call that asks. */
export interface RequestInput {
  /** the tool call's id */
  question_id: string;
  /** the first question */
  question: string;
  /** the options of the first question */
  options: Array<QuestionOption>;
  /** an empty answer is rejected */
  required: boolean;
  /** additional data of the agent */
  metadata: Record<string, unknown> | null;
  inbox_item_id: string | null;
  /** ISO 8601, UTC; null: no deadline */
  deadline_at: string | null;
  /** all questions */
  questions: Array<Question>;
  block_id: string;
  message_id: string;
  index: number;
  message_sequence: number;
  tool_name: string;
  /** the id of that sub-agent */
  agent_id?: string;
  /** assistant.tool_call announced the call before; this adds the question */
  announced?: boolean;
  /** the tool call's arguments, as the agent sent them */
  input?: unknown;
  model?: string;
  /** the tool call whose sub-agent asks */
  parent_tool_use_id?: string;
  tool_type?: string;
}

/** A question or a permission has ended. Each ends exactly once. */
export interface RequestResolved {
  /** a question's is its question_id */
  request_id: string;
  outcome: "answered" | "expired" | "cancelled" | (string & {});
  message_sequence: number;
  /** the id of that sub-agent */
  agent_id?: string;
  /** of a question */
  answer?: unknown;
  /** the user who answered; `agent`, `deadline`, `interrupt`, ... otherwise */
  by?: string;
  /** of a permission */
  decision?: "allow" | "deny" | (string & {});
  /** how the agent gets it: `tool_result`, `decision`, `prompt` */
  delivered_as?: string;
  narrowed?: Array<unknown>;
  /** the tool call whose sub-agent asked */
  parent_tool_use_id?: string;
  /** why it was denied, or why it was cancelled */
  reason?: string;
  /** of a permission: the accepted suggestions */
  remembered?: Array<unknown>;
  /** of a permission: the input that runs instead of the shown one */
  updated_input?: unknown;
}

/** The client's copy is not part of this log. The client must drop all of it. */
export interface Reset {
  /** another log, unknown number, too many missed */
  reason: "epoch" | "beyond_head" | "tail" | (string & {});
  /** the epoch to store from now on */
  epoch: string;
  /** the number of the first entry that follows */
  first: number;
}

/** The files were restored. */
export interface RewindAck {
  type: "user.rewind.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** The files that were restored, or would be. */
export interface Rewound {
  control: "rewind";
  files: Array<string>;
  /** files that could not be restored */
  failed?: Array<string>;
}

/** The first frame: the connection starts without a cursor in the log. */
export interface SessionConnected {
  type: "session.connected";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: SessionInfo;
}

/** A refusal, or the reason why the connection closes. */
export interface SessionError {
  type: "session.error";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: ErrorPayload;
}

/** The answer to session.heartbeat; the server also sends it unasked after a time of silence. */
export interface SessionHeartbeatAck {
  type: "session.heartbeat_ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: HeartbeatAck;
}

/** The position of this connection in the log. */
export interface SessionInfo {
  /** identifies this connection */
  connection_id: string;
  /** identifies this user's client over all its connections */
  client_id: string;
  /** identifies this incarnation of the log */
  epoch: string;
  /** the number of the first entry that this connection will get */
  first: number;
  /** the number of the newest entry; 0: none yet */
  head: number;
  capabilities: Capabilities;
  limits: Limits;
}

/** A setting of the agent's session, besides the model and the permission mode. */
export interface SessionOption {
  /** for the control `set_session_option` */
  option: string;
  description?: string;
  /** `thought_level`: how long it thinks; or the agent's own word */
  kind?: string;
  /** for people; None: `option` is its own name */
  name?: string;
  /** empty: it is switched on (true) or off (false) */
  values?: Array<OptionValue>;
}

/** The options of the agent's session, and their current values. */
export interface SessionOptions {
  control: "session_options";
  options: Array<SessionOption>;
  values: Record<string, string | boolean>;
}

/** The replay is complete. */
export interface SessionReplayComplete {
  type: "session.replay_complete";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: ReplayComplete;
}

/** The client's copy is void and must be dropped. */
export interface SessionReset {
  type: "session.reset";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Reset;
}

/** The first frame: the connection continues after `last_sequence`. */
export interface SessionResumed {
  type: "session.resumed";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: SessionInfo;
}

/** The complete state of the session. */
export interface SessionState {
  type: "session.state";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Status;
}

/** An event about the session. Durable if it has a message_sequence. */
export interface SessionSystemEvent {
  type: "session.system_event";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: SystemNews;
}

/** The agent was chosen. session.state tells when it speaks. */
export interface SetAgentAck {
  type: "session.set_agent.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** The limit of reasoning was changed. */
export interface SetMaxThinkingTokensAck {
  type: "session.set_max_thinking_tokens.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** The model was changed. */
export interface SetModelAck {
  type: "session.set_model.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** The permission mode was changed. */
export interface SetPermissionModeAck {
  type: "session.set_permission_mode.ack";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: Accepted;
}

/** A slash command: a message that begins with it is handled by the agent's program. */
export interface SlashCommand {
  /** without the slash */
  name: string;
  argument_hint?: string;
  description?: string;
}

/** The complete status, small enough to be sent as a whole after every change. */
export interface Status {
  state: "active" | "streaming" | "waiting_input" | "interrupted" | "error" | (string & {});
  /** a live agent works on turn_id */
  running: boolean;
  /** in the order in which they will run */
  queue: Array<QueueItem>;
  /** oldest first */
  requests: Array<OpenRequest>;
  /** the agent that speaks now; absent: there was never another one */
  agent?: string;
  background_tasks?: Array<BackgroundTask>;
  /** absent: no limit */
  budget?: Budget;
  last_turn?: TurnEnd;
  /** the id of that turn */
  last_turn_id?: number;
  /** absent: the agent's default */
  max_thinking_tokens?: number;
  model?: string;
  /** the agent that was chosen for the next turn */
  next_agent?: string;
  offers?: string;
  permission_mode?: string;
  /** no queued message starts until a person releases the queue */
  queue_held?: boolean;
  /** why it is in this state, if a reason is known */
  reason?: string;
  /** the number of remembered rules; a change of it means a new list */
  rules?: number;
  /** the current values of the session's own options */
  session_options?: Record<string, string | boolean>;
  /** empty: the title was removed; absent: unchanged */
  title?: string;
  totals?: Totals;
  /** the turn that is running or suspended */
  turn_id?: number;
}

/** An event about the session. */
export interface SystemNews {
  subtype: string;
  /** that sub-agent's id */
  agent_id?: string;
  /** the agent's message */
  data?: unknown;
  /** absent: the event is not stored */
  message_sequence?: number;
  /** the tool call of the sub-agent that sent this */
  parent_tool_use_id?: string;
  provider?: string;
  /** a text for people */
  text?: string;
}

/** Text. */
export interface TextContent {
  type: "text";
  text: string;
  /** the whole text, if `text` is only its beginning */
  blob?: Blob;
  /** the sources of the text, as the agent gave them */
  citations?: Array<unknown>;
}

/** Reasoning. */
export interface Thinking {
  /** the message's id and the index, or a tool call's id */
  block_id: string;
  /** the agent's id of the model message */
  message_id: string;
  /** the position of the block in its message */
  index: number;
  /** true: a piece of a growing block; false: the whole block, finished */
  partial: boolean;
  /** partial: the new text; snapshot: all so far; finished: all */
  text: string;
  /** ended before it was finished */
  aborted?: boolean;
  /** that sub-agent's id */
  agent_id?: string;
  /** the whole text, if `text` is only its beginning */
  blob?: Blob;
  /** counts the pieces of a block from 1; on partials and snapshots */
  chunk_seq?: number;
  /** always on a finished block */
  message_sequence?: number;
  model?: string;
  /** the tool call of the sub-agent that wrote this */
  parent_tool_use_id?: string;
  /** encrypted reasoning: can be sent back to the model, but not read */
  redacted?: string;
  /** proof of origin */
  signature?: string;
  /** all so far, up to chunk_seq */
  snapshot?: boolean;
}

/** A tool call. */
export interface ToolCall {
  /** the message's id and the index, or a tool call's id */
  block_id: string;
  /** the agent's id of the model message */
  message_id: string;
  /** the position of the block in its message */
  index: number;
  /** true: a piece of a growing block; false: the whole block, finished */
  partial: boolean;
  /** the agent's own id of the call */
  tool_use_id: string;
  tool_name: string;
  /** ended before it was finished */
  aborted?: boolean;
  /** that sub-agent's id */
  agent_id?: string;
  /** the arguments, if they are too large for the frame */
  blob?: Blob;
  /** counts the pieces of a block from 1; on partials and snapshots */
  chunk_seq?: number;
  /** finished: the arguments */
  input?: unknown;
  /** partial: more JSON text; finished: input that is not valid JSON */
  input_text?: string;
  /** always on a finished block */
  message_sequence?: number;
  model?: string;
  /** the tool call of the sub-agent that wrote this */
  parent_tool_use_id?: string;
  /** all so far, up to chunk_seq */
  snapshot?: boolean;
  /** a category for the front end: `CLAUDE_READ`, `MCP`, ... */
  tool_type?: string;
}

/** Progress of a running tool. */
export interface ToolProgressed {
  tool_use_id: string;
  /** that sub-agent's id */
  agent_id?: string;
  elapsed_seconds?: number;
  /** the output since the last progress */
  output?: string;
  /** the tool call of the sub-agent that made the call */
  parent_tool_use_id?: string;
  tool_name?: string;
}

/** The result of a tool call or of a question. `tool_use_id` names the call. */
export interface ToolResult {
  tool_use_id: string;
  is_error: boolean;
  /** text, a list of content, or an object */
  content: unknown;
  message_sequence: number;
  /** that sub-agent's id */
  agent_id?: string;
  /** the whole content, if `content` is only its beginning */
  blob?: Blob;
  /** the tool's structured result, if the agent provides one */
  details?: unknown;
  /** the details, if they are too large for the frame */
  details_blob?: Blob;
  /** the tool call of the sub-agent that made the call */
  parent_tool_use_id?: string;
}

/** The total usage and cost of a conversation. */
export interface Totals {
  cache_creation_input_tokens?: number;
  cache_read_input_tokens?: number;
  cost_usd?: number;
  /** tokens read, without those from a cache */
  input_tokens?: number;
  output_tokens?: number;
}

/** The end of a turn, with its usage and cost. */
export interface TurnEnd {
  is_error: boolean;
  interrupted: boolean;
  /** the last number in the log when the turn ended */
  after_sequence?: number;
  /** cost of this turn */
  cost_usd?: number;
  duration_ms?: number;
  /** if is_error */
  error?: TurnError;
  /** what started the turn */
  origin?: "user" | "agent" | "resume" | (string & {});
  /** why the model stopped: `end_turn`, `tool_use`, ... */
  stop_reason?: string;
  /** its result, if a certain format was asked for */
  structured_output?: unknown;
  /** tokens of this turn */
  usage?: Usage;
}

/** Why a turn failed. */
export interface TurnError {
  /** `api_error`, `max_turns`, `agent_lost`, ... */
  code: string;
  message: string;
}

/** A turn starts, or resumes after its question was answered. */
export interface TurnStart {
  turn_id: number;
  /** a message, the agent itself, or an answer */
  origin: "user" | "agent" | "resume" | (string & {});
  /** the sender's id of that message */
  client_message_id?: string;
  /** the queued message that the turn takes */
  queue_id?: string;
}

/** A turn starts, or resumes. */
export interface TurnStarted {
  type: "turn.started";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: TurnStart;
}

/** A frame of a type that this version does not know. A client ignores it. */
export interface UnknownFrame {
  type: "unknown";
  originalType: string;
  data: unknown;
}

/** Tokens, named as in the Messages API. A figure that the agent did not give is absent. */
export interface Usage {
  /** tokens written into a prompt cache */
  cache_creation_input_tokens?: number;
  /** tokens read from a prompt cache */
  cache_read_input_tokens?: number;
  /** tokens read, without those from a cache */
  input_tokens?: number;
  /** tokens written */
  output_tokens?: number;
}

/** A message to the agent. Durable. */
export interface UserMessage {
  type: "user.message";
  conversation_id: string;
  /** null: not about a turn */
  turn_id: number | null;
  /** counts the frames of this connection from 1; null in a replayed event */
  sequence: number | null;
  /** ISO 8601, UTC, with `Z` */
  timestamp: string;
  /** 32 hex digits, one for each turn; null: not about a turn */
  trace_id: string | null;
  payload: UserWords;
}

/** A message to the agent, from a person or, as `origin` says, from another source. */
export interface UserWords {
  content: Array<Content>;
  message_sequence: number;
  /** that sub-agent's id */
  agent_id?: string;
  /** the user who sent it */
  by?: string;
  /** the sender's id of the message */
  client_message_id?: string;
  /** the source of the message */
  origin?: "user" | "tool" | "synthetic" | "replay" | "interrupt" | "agent" | (string & {});
  /** the tool call of the sub-agent that got this message */
  parent_tool_use_id?: string;
  /** it went into the running turn; its queue_id before that */
  steered_as?: string;
}

/** The agent that speaks from the next turn on. */
export interface AgentChoice {
  /** one of the agents of the server */
  agent: string;
}

/** An empty payload. */
export interface Beat {
}

/** Returns the size of the context and of its parts. */
export interface ContextUsage {
  control: "context_usage";
}

/** Sends a control to the agent, outside of the turns. Starts the agent if it does not run. */
export interface ControlCommand {
  type: "session.control";
  /** one of capabilities.controls */
  payload: McpStatus | McpReconnect | McpToggle | StopTask | ContextUsage | ListModels | ListCommands | ListSessionOptions | SetSessionOption;
  client_message_id?: string | null;
}

/** Takes a remembered permission rule back: the agent asks again. */
export interface ForgetRule {
  type: "session.forget_rule";
  payload: RuleChoice;
  client_message_id?: string | null;
}

/** Tells the server that the client is alive. */
export interface Heartbeat {
  type: "session.heartbeat";
  client_message_id?: string | null;
  payload?: Beat;
}

/** Answers a question. */
export interface InputResponse {
  type: "user.input_response";
  payload: QuestionAnswer;
  client_message_id?: string | null;
}

/** Interrupts the running turn. */
export interface Interrupt {
  type: "user.interrupt";
  payload: Stop;
  client_message_id?: string | null;
}

/** Returns the slash commands. */
export interface ListCommands {
  control: "commands";
}

/** Returns the models that may be chosen. */
export interface ListModels {
  control: "models";
}

/** Returns the further options of the agent's session, such as how long it thinks. */
export interface ListSessionOptions {
  control: "session_options";
}

/** Reconnects an MCP server. */
export interface McpReconnect {
  control: "mcp_reconnect";
  /** its name, as in the result of `mcp_status` */
  server: string;
}

/** Returns the status of the MCP servers. */
export interface McpStatus {
  control: "mcp_status";
}

/** Switches an MCP server on or off, permanently for this conversation. */
export interface McpToggle {
  control: "mcp_toggle";
  /** its name, as in the result of `mcp_status` */
  server: string;
  enabled: boolean;
}

/** The model to use from the next turn on. */
export interface ModelChoice {
  /** null: the agent's default */
  model: string | null;
}

/** A message to the agent. */
export interface NewMessage {
  /** text, or a list of text, images and files */
  content: string | Array<SentText | SentImage | SentFile>;
  /** for the running turn, if one runs; needs the capability `steer` */
  steer?: boolean;
}

/** The decision on a permission request. */
export interface PermissionChoice {
  request_id: string;
  decision: "allow" | "deny";
  /** deny: the reason, passed on to the agent */
  reason?: string | null;
  /** allow: those of the request's suggestions that apply from now on */
  remember?: Array<unknown>;
  /** allow: run the tool with this input instead */
  updated_input?: unknown;
}

/** The permission mode: how often the agent asks before it runs a tool. */
export interface PermissionModeChoice {
  /** one of capabilities.permission_modes */
  mode: string;
}

/** Allows or denies a tool call that needs a permission. */
export interface PermissionResponse {
  type: "user.permission_response";
  payload: PermissionChoice;
  client_message_id?: string | null;
}

/** The answer to a question. */
export interface QuestionAnswer {
  question_id: string;
  /** text, or by question id; a list if multi-select */
  answer: string | Record<string, string | Array<string>>;
  /** start the agent again for the answer, if its process has ended */
  resume_task?: boolean;
}

/** A change of the queue. */
export interface QueueChange {
  action: "move" | "remove" | "replace" | "resume";
  /** move: the message to move it before; absent: move it to the end */
  before?: string | null;
  /** replace: the new content */
  content?: string | Array<SentText | SentImage | SentFile> | null;
  /** the queued message; not for resume */
  queue_id?: string | null;
}

/** Removes, replaces or moves a queued message, or resumes a held queue. */
export interface QueueCommand {
  type: "user.queue";
  payload: QueueChange;
  client_message_id?: string | null;
}

/** Restores files to their content before a message. */
export interface Rewind {
  type: "user.rewind";
  payload: RewindTo;
  client_message_id?: string | null;
}

/** The message before which the files are restored. The log itself stays as it is. */
export interface RewindTo {
  /** the number of a user.message */
  message_sequence: number;
  /** only report which files would change */
  dry_run?: boolean;
}

/** Which rule to take back. */
export interface RuleChoice {
  /** one of `GET /api/conversations/{id}/rules` */
  rule_id: string;
}

/** Sends a message to the agent. It starts a turn, or is queued. */
export interface SendMessage {
  type: "user.message";
  payload: NewMessage;
  client_message_id?: string | null;
}

/** A reference to content that was uploaded to the server before. */
export interface SentBlob {
  blob_id: string;
  /** the server always sets it; optional for a client */
  mime_type?: string | null;
  /** bytes; the server always sets it, optional for a client */
  size?: number | null;
}

/** A reference to a file by its name. */
export interface SentFile {
  type: "file_ref";
  path: string;
  /** the content of the file, if it was uploaded */
  blob?: SentBlob | null;
  mime_type?: string | null;
  /** bytes */
  size?: number | null;
}

/** An image: in a blob, inline, or by URL. */
export interface SentImage {
  type: "image";
  blob?: SentBlob | null;
  /** base64 */
  data?: string | null;
  mime_type?: string | null;
  url?: string | null;
}

/** Text. */
export interface SentText {
  type: "text";
  text: string;
  /** the whole text, if `text` is only its beginning */
  blob?: SentBlob | null;
  /** the sources of the text, as the agent gave them */
  citations?: Array<unknown> | null;
}

/** Lets another agent speak from the next turn on. It is told what was said before. */
export interface SetAgent {
  type: "session.set_agent";
  payload: AgentChoice;
  client_message_id?: string | null;
}

/** Sets how much the agent may reason before it answers. */
export interface SetMaxThinkingTokens {
  type: "session.set_max_thinking_tokens";
  payload: ThinkingChoice;
  client_message_id?: string | null;
}

/** Sets the model. */
export interface SetModel {
  type: "session.set_model";
  payload: ModelChoice;
  client_message_id?: string | null;
}

/** Sets the permission mode: how much the agent may do without asking. */
export interface SetPermissionMode {
  type: "session.set_permission_mode";
  payload: PermissionModeChoice;
  client_message_id?: string | null;
}

/** Changes an option of the agent's session, permanently for this conversation. */
export interface SetSessionOption {
  control: "set_session_option";
  /** one of the result of `session_options` */
  option: string;
  value: string | boolean;
}

/** The turn to interrupt. */
export interface Stop {
  /** a late command must not stop the next turn */
  turn_id: number;
  /** what happens to the queued messages */
  queue?: "clear" | "continue" | "hold";
}

/** Ends a background task. */
export interface StopTask {
  control: "stop_task";
  /** one of the `background_tasks` in the status */
  task_id: string;
}

/** The limit of reasoning in each turn. */
export interface ThinkingChoice {
  /** 0: none; null: the initial value */
  max_thinking_tokens: number | null;
}

/** A shell command that the agent ran by itself. */
export interface CommandExecutionBlock {
  type: "command_execution";
  id: string;
  command: string;
  status: "completed" | "failed" | "in_progress";
  cwd?: string;
  duration_ms?: number;
  exit_code?: number;
  /** standard output and standard error, in order of arrival */
  output?: string;
}

/** An error, shown in the conversation. */
export interface ErrorBlock {
  type: "error";
  message: string;
  status: "completed" | "failed" | "in_progress";
  code?: string;
}

/** One file in a change. */
export interface FileChange {
  path: string;
  /** add, update, delete, ... */
  kind: string;
  /** as a unified diff */
  diff?: string;
}

/** Files that the agent changed. */
export interface FileChangeBlock {
  type: "file_change";
  id: string;
  changes: Array<FileChange>;
  status: "completed" | "failed" | "in_progress";
}

/** A file, by name, without its content. */
export interface FileRefBlock {
  type: "file_ref";
  path: string;
  status: "completed" | "failed" | "in_progress";
  mime_type?: string;
  /** bytes */
  size?: number;
}

/** A call of a tool on an MCP server, if the agent reports such calls separately. */
export interface McpToolCallBlock {
  type: "mcp_tool_call";
  id: string;
  /** the MCP server's name */
  server: string;
  tool_name: string;
  arguments: unknown;
  status: "completed" | "failed" | "in_progress";
  error?: string;
  result?: unknown;
}

/** The share of one model in a turn. */
export interface ModelUsage {
  /** tokens written into a prompt cache */
  cache_creation_input_tokens?: number;
  /** tokens read from a prompt cache */
  cache_read_input_tokens?: number;
  /** cost of this model */
  cost_usd?: number;
  /** tokens read, without those from a cache */
  input_tokens?: number;
  /** tokens written */
  output_tokens?: number;
  /** searches that the model's provider ran */
  web_search_requests?: number;
}

/** Finished blocks of a message. */
export interface RpcAssistantMessage {
  type: "assistant";
  message: RpcMessageContent;
  provider: string;
  /** ended early by an interrupt */
  aborted?: boolean;
  /** the id of the sub-agent */
  agent_id?: string;
  /** the message reports this API error */
  error?: string;
  parent_tool_use_id?: string;
}

/** A block grows. */
export interface RpcContentBlockDeltaEvent {
  type: "content_block_delta";
  index: number;
  delta: RpcDelta;
  /** on a tool's output, because the tool's message may have ended */
  tool_use_id?: string;
}

/** A block starts. */
export interface RpcContentBlockStartEvent {
  type: "content_block_start";
  index: number;
  content_block: RpcBlock;
}

/** A block has ended. */
export interface RpcContentBlockStopEvent {
  type: "content_block_stop";
  index: number;
}

/** An error. */
export interface RpcErrorMessage {
  type: "error";
  message: string;
  provider: string;
  /** the agent's code: `api_error`, ... */
  code?: string;
}

/** An image. */
export interface RpcImageBlock {
  type: "image";
  source: RpcImageSource;
}

/** The source of an image, as in the Messages API. */
export interface RpcImageSource {
  /** base64 or url */
  type: string;
  data?: string;
  media_type?: string;
  url?: string;
}

/** More of a tool's input, as JSON text. Never a tool's output. */
export interface RpcInputJsonDelta {
  type: "input_json_delta";
  partial_json: string;
}

/** The content of a message. `content` may be null or missing when the message starts. */
export interface RpcMessageContent {
  content?: Array<RpcBlock>;
  /** the agent's message id; frames with the same id are one message */
  id?: string;
  /** the position of the first of these blocks in the whole message */
  index?: number;
  model?: string;
}

/** Changes of the message itself. */
export interface RpcMessageDelta {
  stop_reason: string | null;
}

/** The message's stop reason and usage; message_stop follows. */
export interface RpcMessageDeltaEvent {
  type: "message_delta";
  delta: RpcMessageDelta;
  usage?: Usage;
}

/** A message starts. */
export interface RpcMessageStartEvent {
  type: "message_start";
  message?: RpcMessageContent;
}

/** A message has ended. A client drops its blocks from `discarded_from` on. */
export interface RpcMessageStopEvent {
  type: "message_stop";
  /** drop the blocks from this index on */
  discarded_from?: number;
}

/** More of a tool's output, for connections that chose `tool_progress: output_delta`. */
export interface RpcOutputDelta {
  type: "output_delta";
  output: string;
}

/** The end of a turn, and its figures. */
export interface RpcResultMessage {
  type: "result";
  subtype: string;
  duration_ms: number;
  duration_api_ms: number;
  is_error: boolean;
  num_turns: number;
  session_id: string;
  provider: string;
  /** of this turn */
  cost_usd?: number;
  errors?: Array<string>;
  /** of this turn, by model */
  model_usage?: Record<string, ModelUsage>;
  result?: string;
  stop_reason?: string;
  structured_output?: unknown;
  terminal_reason?: string;
  /** since the agent process started */
  total_cost_usd?: number;
  /** of this turn */
  usage?: Usage;
}

/** An event of a growing message. */
export interface RpcStreamEvent {
  type: "stream_event";
  /** `evt-{stream}-{n}` */
  uuid: string;
  session_id: string;
  event: RpcStreamEventData;
  provider: string;
  /** the id of the sub-agent */
  agent_id?: string;
  parent_tool_use_id?: string;
}

/** An event about the session, only for connections that ask for it. */
export interface RpcSystemMessage {
  type: "system";
  subtype: string;
  session_id: string;
  provider: string;
  /** the agent's message, unchanged */
  data?: unknown;
}

/** Text. */
export interface RpcTextBlock {
  type: "text";
  text: string;
  citations?: Array<unknown>;
}

/** More text. */
export interface RpcTextDelta {
  type: "text_delta";
  text: string;
}

/** Reasoning. */
export interface RpcThinkingBlock {
  type: "thinking";
  thinking: string;
  /** encrypted reasoning: can be sent back to the model, but not read */
  redacted?: string;
  signature?: string;
}

/** More reasoning. */
export interface RpcThinkingDelta {
  type: "thinking_delta";
  thinking: string;
}

/** The result of a tool call. */
export interface RpcToolResultBlock {
  type: "tool_result";
  tool_use_id: string;
  content?: unknown;
  is_error?: boolean;
}

/** A tool call. */
export interface RpcToolUseBlock {
  type: "tool_use";
  id: string;
  toolName: string;
  /** a category for the front end: `CLAUDE_READ`, `MCP`, ... */
  toolType: string;
  /** null while it streams */
  input?: unknown;
  /** the streamed input, if it is not valid JSON */
  input_text?: string;
  status?: "completed" | "failed" | "in_progress";
}

/** A delta of a type that this version does not know. */
export interface RpcUnknownDelta {
  type: "unknown";
  /** the tag of the object */
  originalType: string;
  /** the whole object */
  data: unknown;
}

/** A message of a type that this version does not know. */
export interface RpcUnknownMessage {
  type: "unknown";
  /** the tag of the object */
  originalType: string;
  /** the whole object */
  data: unknown;
}

/** A stream event of a type that this version does not know. */
export interface RpcUnknownStreamEvent {
  type: "unknown";
  /** the tag of the object */
  originalType: string;
  /** the whole object */
  data: unknown;
}

/** A message to the model. A tool's result is sent alone, as one of these. */
export interface RpcUserMessage {
  type: "user";
  message: RpcMessageContent;
  provider: string;
  /** the id of the sub-agent */
  agent_id?: string;
  /** said in an earlier turn */
  isReplay?: boolean;
  /** said by the agent, not a person */
  isSynthetic?: boolean;
  parent_tool_use_id?: string;
  steered_as?: string;
  /** the agent's id of this frame */
  uuid?: string;
}

/** One item of the agent's plan. */
export interface TodoItem {
  content: string;
  /** pending, in_progress, completed, or the agent's own status */
  status: string;
  /** its text while it is in progress: "Writing tests" */
  active_form?: string;
  /** if the agent numbers its tasks */
  id?: string;
}

/** The agent's plan. */
export interface TodoListBlock {
  type: "todo_list";
  items: Array<TodoItem>;
  status: "completed" | "failed" | "in_progress";
}

/** A block of a kind this version does not know, kept unchanged. */
export interface UnknownBlock {
  type: "unknown";
  /** the tag of the object */
  originalType: string;
  /** the whole object */
  data: unknown;
}

/** A web search. */
export interface WebSearchBlock {
  type: "web_search";
  id: string;
  query: string;
  status: "completed" | "failed" | "in_progress";
  results?: unknown;
}

/** An image that was uploaded before, because it is too large for a frame or is used again. */
export interface RpcBlobSource {
  type: "blob";
  blob_id: string;
}

/** Opens a conversation: an existing one, or a new one. */
export interface RpcConnect {
  client_message_id?: string | null;
  /** an existing conversation; absent: create one */
  conversation?: string | null;
  /** the agent's working directory */
  cwd?: string | null;
  /** the epoch of the log that this number belongs to */
  epoch?: string | null;
  /** whether `stream_event` messages are sent */
  include_partial_messages?: boolean;
  /** the client has all entries up to this number */
  last_sequence?: number;
  model?: string | null;
  /** options of the agent */
  options?: Record<string, unknown>;
  permission_mode?: string | null;
  /** the agent; absent: the server's default */
  provider?: string | null;
  /** continue this session of the agent */
  resume?: string | null;
  /** whether `system` messages are sent */
  system_messages?: boolean;
  system_prompt?: string | null;
  /** replay at most this many of the newest entries */
  tail?: number | null;
  title?: string | null;
  /** how to send the output of a running tool */
  tool_progress?: "off" | "output_delta" | "text_delta";
}

/** Leaves the conversation, which goes on. The connection can call `connect` again. */
export interface RpcDisconnect {
}

/** Takes a remembered permission rule back: the agent asks again. */
export interface RpcForgetRule {
  rule_id: string;
}

/** Returns the features of an agent. */
export interface RpcGetCapabilities {
  /** absent: of this conversation, else the default */
  provider?: string | null;
}

/** Returns the agent's slash commands. */
export interface RpcGetCommands {
}

/** Returns how much of the agent's context is used, by category. */
export interface RpcGetContextUsage {
}

/** Returns the newest messages of this conversation. */
export interface RpcGetHistory {
}

/** Returns the list of conversations, the newest first. */
export interface RpcGetHistorySessions {
  archived?: boolean;
  limit?: number;
  offset?: number;
}

/** Returns the status of the agent's MCP servers. */
export interface RpcGetMcpStatus {
}

/** Returns the available models. */
export interface RpcGetModels {
}

/** Returns the further options of the agent's session, and their current values. */
export interface RpcGetSessionOptions {
}

/** A file that was uploaded before. */
export interface RpcGivenFile {
  type: "file";
  name: string;
  blob_id: string;
}

/** An image. */
export interface RpcGivenImage {
  type: "image";
  source: RpcInlineSource | RpcUrlSource | RpcBlobSource;
}

/** Text. */
export interface RpcGivenText {
  type: "text";
  text: string;
}

/** An image inside of the frame. */
export interface RpcInlineSource {
  type: "base64";
  media_type: string;
  /** base64 */
  data: string;
}

/** Interrupts a turn. */
export interface RpcInterrupt {
  /** what happens to the queued messages */
  queue?: "clear" | "continue" | "hold";
  /** absent: the running turn */
  turn_id?: number | null;
}

/** Returns a page of a conversation's messages; without `after` and `before` the newest. */
export interface RpcLoadHistory {
  /** only entries with a greater number */
  after?: number | null;
  /** only entries with a smaller number */
  before?: number | null;
  /** absent: the conversation of this connection */
  conversation?: string | null;
  limit?: number;
}

/** The result of `requestPermission`. */
export interface RpcPermissionReply {
  decision: "allow" | "deny";
  /** deny: the reason, passed on to the agent */
  reason?: string | null;
  /** allow: those of the request's suggestions that apply from now on */
  remember?: Array<unknown>;
  /** allow: run the tool with this input instead */
  updated_input?: unknown;
}

/** Sends a message to the agent. Streams its turn: the `result` message comes last. */
export interface RpcQuery {
  prompt: string;
  client_message_id?: string | null;
  /** for the running turn, if one runs; needs the capability `steer` */
  steer?: boolean;
}

/** Sends a message of text, images and files, in their order. */
export interface RpcQueryWithContent {
  content: Array<RpcGivenText | RpcGivenImage | RpcGivenFile>;
  client_message_id?: string | null;
  /** for the running turn, if one runs; needs the capability `steer` */
  steer?: boolean;
}

/** The result of `askUserQuestion`. */
export interface RpcQuestionReply {
  /** text, or by question id; a list if multi-select */
  answer: string | Record<string, string | Array<string>>;
  /** start the agent again for the answer, if its process has ended */
  resume_task?: boolean;
}

/** Reconnects the agent to one of its MCP servers. */
export interface RpcReconnectMcp {
  server: string;
}

/** Restores files to their content before a message. The log itself stays as it is. */
export interface RpcRewindFiles {
  /** the number of a `user` message */
  sequence: number;
  /** only report which files would change */
  dry_run?: boolean;
}

/** Lets another agent speak from the next turn on. It is told what was said before. */
export interface RpcSetAgent {
  /** one of the agents of the server */
  agent: string;
}

/** Sets the limit of reasoning in each turn. */
export interface RpcSetMaxThinkingTokens {
  /** 0: none; null: the initial value */
  max_thinking_tokens: number | null;
}

/** Sets the model from now on. */
export interface RpcSetModel {
  /** null: the agent's default */
  model: string | null;
}

/** Sets the permission mode: how often the agent asks before it runs a tool. */
export interface RpcSetPermissionMode {
  /** one of the capabilities' permission_modes */
  mode: string;
}

/** Changes an option of the agent's session, permanently for this conversation. */
export interface RpcSetSessionOption {
  /** one of the capabilities' `session_options` */
  option: string;
  value: string | boolean;
}

/** Stops a background task. */
export interface RpcStopTask {
  /** one of the state's `background_tasks` */
  task_id: string;
}

/** Enables or disables one of the agent's MCP servers, permanently for this conversation. */
export interface RpcToggleMcp {
  server: string;
  enabled: boolean;
}

/** An image by its URL. */
export interface RpcUrlSource {
  type: "url";
  url: string;
}

/** The result of `query` and `queryWithContent`: the message is stored. */
export interface RpcAccepted {
  /** the call is a repeat, and was not executed again */
  duplicate?: boolean;
  /** the queue was held, and resumes now */
  held?: boolean;
  /** its id in the queue */
  queue_id?: string;
  /** the turn that it started; with `queue_id`, that it is to go into */
  turn_id?: number;
}

/** The answer to a call. Either `result` or `error` is null. */
export interface RpcAnswer {
  /** null: not about one call; the connection may be about to close */
  id: string | null;
  result: RpcCapabilities | RpcConnected | RpcAccepted | RpcStopped | RpcHistory | RpcSessions | unknown;
  error: RpcError | null;
}

/** The server withdraws a call: another client has answered, or the request is obsolete. */
export interface RpcCancel {
  type: "cancel";
  id: string;
}

/** The available features. A front end offers only these. */
export interface RpcCapabilities {
  /** the agent */
  provider: string;
  /** methods that are not refused with NOT_SUPPORTED */
  methods: Array<string>;
  /** types that `queryWithContent` accepts, as in an Accept header */
  files?: Array<string>;
  /** whether `queryWithContent` accepts images */
  images?: boolean;
  /** for `setModel`, if the agent lists them */
  models?: Array<string>;
  /** the `offers` of the status that these capabilities include */
  offers?: string;
  /** for `connect` */
  options?: Array<string>;
  /** for `setPermissionMode` */
  permission_modes?: Array<string>;
  /** for `setSessionOption` */
  session_options?: Array<RpcSessionOption>;
  /** whether a query may go into the running turn */
  steer?: boolean;
}

/** The stream of this call has ended. */
export interface RpcComplete {
  type: "complete";
  id: string;
}

/** The result of `connect`. */
export interface RpcConnected {
  conversation: string;
  /** identifies this incarnation of the log */
  epoch: string;
  /** the number of the first entry that this connection will get */
  first: number;
  /** the number of the newest entry; 0: none yet */
  head: number;
  /** whether `last_sequence` was accepted: the stream continues from it */
  resumed: boolean;
  capabilities: RpcCapabilities;
  /** the current status */
  status: Status;
  /** maximum size of a client's frame */
  max_frame_bytes: number;
  /** maximum length of the queue */
  max_queue: number;
  /** the server is never silent for longer */
  heartbeat_seconds: number;
  connection_id: string;
  /** why the client's copy is void and must be dropped */
  reset?: string;
  /** the agent's own session id, if known */
  session_id?: string;
}

/** Why a call failed. */
export interface RpcError {
  /** one of the error codes of protocol v2 */
  code: string;
  /** an explanation for people */
  message: string;
  /** a retry of the same call may succeed later */
  retryable: boolean;
  what_to_do: string;
  /** details, by code */
  data?: Record<string, unknown>;
}

/** The server is alive; sent after a time of silence. */
export interface RpcHeartbeat {
  type: "heartbeat";
  id?: null;
}

/** The result of `getHistory` and `loadHistory`. */
export interface RpcHistory {
  messages: Array<RpcKept>;
  /** the number of the newest entry */
  head: number;
  epoch: string;
  /** the number of the first entry of this page; null: the page is empty */
  first: number | null;
  /** the number of the last entry of this page */
  last: number | null;
}

/** A message of the log. */
export interface RpcKept {
  data: RpcMessage;
  /** absent: the end of a turn, which has no number */
  sequence?: number;
  turn_id?: number;
}

/** One value of an option. */
export interface RpcOptionValue {
  value: string;
  description?: string;
  /** for people; None: the value is its own name */
  name?: string;
}

/** The server calls the client: a request waits for a person. */
export interface RpcServerCall {
  /** `srv-N` */
  id: string;
  method: "askUserQuestion" | "requestPermission";
  params: OpenRequest;
}

/** A setting of the agent's session, besides the model and the permission mode. */
export interface RpcSessionOption {
  /** for the control `set_session_option` */
  option: string;
  description?: string;
  /** `thought_level`: how long it thinks; or the agent's own word */
  kind?: string;
  /** for people; None: `option` is its own name */
  name?: string;
  /** empty: it is switched on (true) or off (false) */
  values?: Array<RpcOptionValue>;
}

/** A conversation in the list. */
export interface RpcSessionSummary {
  conversation: string;
  provider: string;
  created_at: string;
  updated_at: string;
  head: number;
  state: string;
  running: boolean;
  archived?: boolean;
  cwd?: string;
  /** the agent's own session id */
  session_id?: string;
  title?: string;
}

/** The result of `getHistorySessions`. */
export interface RpcSessions {
  sessions: Array<RpcSessionSummary>;
}

/** The result of `interrupt`. */
export interface RpcStopped {
  turn_id: number | null;
  outcome: "already_ended" | "requested";
}

/** A message in the stream of a call. */
export interface RpcStream {
  type: "stream";
  id: string;
  data: RpcMessage;
  /** its number in the log, if it is stored */
  sequence?: number;
  /** the turn, for stored messages and for `result` */
  turn_id?: number;
}

/** An event between the messages. */
export interface EventView {
  type: "event";
  id: string;
  /** frozen: a piece is missing; the finished block will follow */
  status: "aborted" | "complete" | "frozen" | "streaming";
  /** `system` or `interrupted` */
  name: string;
  data?: unknown;
  /** of `system`: the agent's name for it */
  subtype?: string;
  /** for a person */
  text?: string;
}

/** A message. Its id is the same from its first piece to the end. */
export interface MessageView {
  id: string;
  role: "assistant" | "system" | "user";
  blocks: Array<BlockView>;
  agent_id?: string;
  /** the user who sent it */
  by?: string;
  /** the sender's own id of the message */
  client_message_id?: string;
  /** the API failed and the text says so */
  error?: string;
  model?: string;
  /** of a user message: the author, if it is not a person */
  origin?: string;
  /** the tool call that started the speaking sub-agent */
  parent_tool_use_id?: string;
  /** the number of its first entry in the log */
  sequence?: number;
  /** of a user message: it went into the running turn */
  steered?: boolean;
  /** at least one block is unfinished */
  streaming?: boolean;
  /** of that entry */
  timestamp?: string;
  turn_id?: number;
}

/** Any other block or content. */
export interface OtherView {
  type: "block";
  id: string;
  /** frozen: a piece is missing; the finished block will follow */
  status: "aborted" | "complete" | "frozen" | "streaming";
  block: unknown;
  blob?: Blob;
}

/** The latest request of a tool call. */
export interface RequestView {
  request_id: string;
  kind: "question" | "permission" | (string & {});
  answer?: unknown;
  /** the user who answered, or the cause of its end */
  by?: string;
  /** of a permission: allow, deny */
  decision?: string;
  /** absent: it is still open */
  outcome?: "answered" | "expired" | "cancelled" | (string & {});
  reason?: string;
  /** of a permission: the input that ran instead of the shown one */
  updated_input?: unknown;
}

/** The result of a tool. */
export interface ResultView {
  content: unknown;
  is_error: boolean;
  /** the whole content, if `content` is only its beginning */
  blob?: Blob;
  /** the tool's structured result, if the agent gives one */
  details?: unknown;
  details_blob?: Blob;
}

/** Text. */
export interface TextView {
  type: "text";
  id: string;
  /** frozen: a piece is missing; the finished block will follow */
  status: "aborted" | "complete" | "frozen" | "streaming";
  text: string;
  /** the whole text, if `text` is only its beginning */
  blob?: Blob;
  /** the sources of the text */
  citations?: Array<unknown>;
}

/** Reasoning. */
export interface ThinkingView {
  type: "thinking";
  id: string;
  /** frozen: a piece is missing; the finished block will follow */
  status: "aborted" | "complete" | "frozen" | "streaming";
  text: string;
  /** the whole text, if `text` is only its beginning */
  blob?: Blob;
  /** encrypted reasoning, to be returned to the model's API unread */
  redacted?: string;
  /** proof of origin */
  signature?: string;
}

/** A tool's card: the call, its request, output and result. */
export interface ToolView {
  type: "tool";
  id: string;
  /** frozen: a piece is missing; the finished block will follow */
  status: "aborted" | "complete" | "frozen" | "streaming";
  tool_name: string;
  /** the arguments, if they are too large to be inline */
  blob?: Blob;
  /** while it is running */
  elapsed_seconds?: number;
  input?: unknown;
  /** while it streams, or if it is not JSON */
  input_text?: string;
  /** the messages of its sub-agent */
  messages?: Array<MessageView>;
  /** its output so far; absent once the result exists */
  output?: string;
  /** the latest question or permission of the call */
  request?: RequestView;
  /** absent: it is still running */
  result?: ResultView;
  tool_type?: string;
}

/** A turn that has ended. */
export interface TurnView {
  turn_id: number;
  end: TurnEnd;
}

/** The whole view of a conversation. */
export interface View {
  messages: Array<MessageView>;
  /** ended turns, in order */
  turns: Array<TurnView>;
  /** an entry is missing: connect again with last_sequence = cursor */
  behind?: boolean;
  /** the number of the last entry */
  cursor?: number;
  epoch?: string;
  /** the number of the first entry shown */
  first?: number;
  /** the agent's current to-do list */
  plan?: Array<unknown>;
  /** absent: not received yet */
  status?: Status;
  title?: string;
  totals?: Totals;
}

export type ServerFrame =
  | SessionConnected
  | SessionResumed
  | SessionReset
  | MessageReplay
  | SessionReplayComplete
  | SessionState
  | SessionHeartbeatAck
  | SessionError
  | TurnStarted
  | UserMessage
  | AssistantChunk
  | AssistantThinking
  | AssistantToolCall
  | AssistantBlock
  | AssistantToolProgress
  | AssistantToolResult
  | AssistantDiscarded
  | AssistantRequestInput
  | AssistantPermissionRequest
  | AssistantRequestResolved
  | AssistantComplete
  | ConversationInterrupted
  | ConversationUpdated
  | SessionSystemEvent
  | MessageAck
  | InputResponseAck
  | PermissionResponseAck
  | InterruptAck
  | QueueAck
  | RewindAck
  | ForgetRuleAck
  | SetAgentAck
  | SetModelAck
  | SetPermissionModeAck
  | SetMaxThinkingTokensAck
  | ControlAck
  | UnknownFrame;

export type ClientFrame =
  | SendMessage
  | InputResponse
  | PermissionResponse
  | Interrupt
  | QueueCommand
  | Rewind
  | ForgetRule
  | SetAgent
  | SetModel
  | SetPermissionMode
  | SetMaxThinkingTokens
  | ControlCommand
  | Heartbeat;

export type RpcMessage =
  | RpcUserMessage
  | RpcAssistantMessage
  | RpcResultMessage
  | RpcStreamEvent
  | RpcErrorMessage
  | RpcSystemMessage
  | RpcUnknownMessage;

export type RpcStreamEventData =
  | RpcMessageStartEvent
  | RpcContentBlockStartEvent
  | RpcContentBlockDeltaEvent
  | RpcContentBlockStopEvent
  | RpcMessageDeltaEvent
  | RpcMessageStopEvent
  | RpcUnknownStreamEvent;

export type RpcDelta =
  | RpcTextDelta
  | RpcThinkingDelta
  | RpcInputJsonDelta
  | RpcOutputDelta
  | RpcUnknownDelta;

export type RpcBlock =
  | RpcTextBlock
  | RpcThinkingBlock
  | RpcToolUseBlock
  | RpcToolResultBlock
  | RpcImageBlock
  | FileRefBlock
  | CommandExecutionBlock
  | FileChangeBlock
  | McpToolCallBlock
  | WebSearchBlock
  | TodoListBlock
  | ErrorBlock
  | UnknownBlock;

export type Content =
  | TextContent
  | ImageContent
  | FileContent
  | OtherContent;

export type BlockView =
  | TextView
  | ThinkingView
  | ToolView
  | OtherView
  | EventView;

export type RpcServerFrame =
  | RpcAnswer
  | RpcStream
  | RpcComplete
  | RpcServerCall
  | RpcCancel
  | RpcHeartbeat;

/** What each method of RPC is called with. */
export interface RpcCalls {
  connect: RpcConnect;
  query: RpcQuery;
  queryWithContent: RpcQueryWithContent;
  interrupt: RpcInterrupt;
  disconnect: RpcDisconnect;
  forgetRule: RpcForgetRule;
  setAgent: RpcSetAgent;
  setModel: RpcSetModel;
  setPermissionMode: RpcSetPermissionMode;
  setMaxThinkingTokens: RpcSetMaxThinkingTokens;
  getHistory: RpcGetHistory;
  loadHistory: RpcLoadHistory;
  getHistorySessions: RpcGetHistorySessions;
  getMcpStatus: RpcGetMcpStatus;
  reconnectMcp: RpcReconnectMcp;
  toggleMcp: RpcToggleMcp;
  stopTask: RpcStopTask;
  getContextUsage: RpcGetContextUsage;
  getModels: RpcGetModels;
  getCommands: RpcGetCommands;
  getSessionOptions: RpcGetSessionOptions;
  setSessionOption: RpcSetSessionOption;
  getCapabilities: RpcGetCapabilities;
  rewindFiles: RpcRewindFiles;
}
