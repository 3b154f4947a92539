// Generated from schema/ by tools/generate.mjs: `make schema` writes it anew. Do not edit.

/** What every frame of the server has. */
export const envelope: Record<string, string> = {
  conversation_id: "string",
  turn_id: "integer|null",
  sequence: "integer|null",
  timestamp: "string",
  trace_id: "string|null"
};

/** The payload of each frame of the server. */
export const frames: Record<string, string> = {
  "session.connected": "SessionInfo",
  "session.resumed": "SessionInfo",
  "session.reset": "Reset",
  "message.replay": "Replay",
  "session.replay_complete": "",
  "session.state": "Status",
  "session.heartbeat_ack": "",
  "session.error": "",
  "turn.started": "",
  "user.message": "UserWords",
  "assistant.chunk": "Chunk",
  "assistant.thinking": "Thinking",
  "assistant.tool_call": "ToolCall",
  "assistant.block": "OtherBlock",
  "assistant.tool_progress": "ToolProgressed",
  "assistant.tool_result": "ToolResult",
  "assistant.discarded": "Discarded",
  "assistant.request_input": "RequestInput",
  "assistant.permission_request": "PermissionAsked",
  "assistant.request_resolved": "RequestResolved",
  "assistant.complete": "TurnEnd",
  "conversation.interrupted": "Interrupted",
  "conversation.updated": "ConversationNews",
  "session.system_event": "SystemNews",
  "user.message.ack": "",
  "user.input_response.ack": "",
  "user.permission_response.ack": "",
  "user.interrupt.ack": "",
  "user.queue.ack": "",
  "user.rewind.ack": "",
  "session.set_model.ack": "",
  "session.set_permission_mode.ack": ""
};

/** Which object each tag of a union stands for. */
export const unions: Record<string, Record<string, string>> = {
  Content: {
    text: "TextContent",
    image: "ImageContent",
    file_ref: "FileContent"
  },
  RpcMessage: {
    user: "RpcUserMessage",
    assistant: "RpcAssistantMessage",
    result: "RpcResultMessage",
    stream_event: "RpcStreamEvent",
    error: "RpcErrorMessage",
    system: "RpcSystemMessage"
  },
  RpcBlock: {
    text: "RpcTextBlock",
    thinking: "RpcThinkingBlock",
    tool_use: "RpcToolUseBlock",
    tool_result: "RpcToolResultBlock",
    image: "RpcImageBlock",
    file_ref: "FileRefBlock",
    command_execution: "CommandExecutionBlock",
    file_change: "FileChangeBlock",
    mcp_tool_call: "McpToolCallBlock",
    web_search: "WebSearchBlock",
    todo_list: "TodoListBlock",
    error: "ErrorBlock"
  },
  RpcStreamEventData: {
    message_start: "RpcMessageStartEvent",
    content_block_start: "RpcContentBlockStartEvent",
    content_block_delta: "RpcContentBlockDeltaEvent",
    content_block_stop: "RpcContentBlockStopEvent",
    message_delta: "RpcMessageDeltaEvent",
    message_stop: "RpcMessageStopEvent"
  },
  RpcDelta: {
    text_delta: "RpcTextDelta",
    thinking_delta: "RpcThinkingDelta",
    input_json_delta: "RpcInputJsonDelta",
    output_delta: "RpcOutputDelta"
  }
};

/** The fields of each object. */
export const shapes: Record<string, Record<string, string>> = {
  SessionInfo: {
    connection_id: "string",
    client_id: "string",
    epoch: "string",
    first: "integer",
    head: "integer",
    capabilities: "Capabilities",
    limits: "Limits"
  },
  Capabilities: {
    agent: "string",
    commands: "string[]",
    images: "boolean=false",
    models: "string[]=[]",
    permission_modes: "string[]=[]"
  },
  Limits: {
    max_frame_bytes: "integer",
    max_queue: "integer",
    heartbeat_seconds: "integer"
  },
  Reset: {
    reason: "string",
    epoch: "string",
    first: "integer"
  },
  Status: {
    state: "string",
    running: "boolean",
    queue: "QueueItem[]",
    requests: "OpenRequest[]",
    background_tasks: "BackgroundTask[]=[]",
    last_turn: "TurnEnd?",
    last_turn_id: "integer?",
    model: "string?",
    permission_mode: "string?",
    queue_held: "boolean=false",
    reason: "string?",
    title: "string?",
    totals: "Totals?",
    turn_id: "integer?"
  },
  QueueItem: {
    queue_id: "string",
    content: "Content[]",
    by: "string?",
    client_message_id: "string?",
    created_at: "string?"
  },
  TextContent: {
    text: "string",
    blob: "Blob?",
    citations: "any[]?"
  },
  Blob: {
    blob_id: "string",
    mime_type: "string?",
    size: "integer?"
  },
  ImageContent: {
    blob: "Blob?",
    data: "string?",
    mime_type: "string?",
    url: "string?"
  },
  FileContent: {
    path: "string",
    blob: "Blob?",
    mime_type: "string?",
    size: "integer?"
  },
  OpenRequest: {
    request_id: "string",
    kind: "string",
    tool_use_id: "string",
    tool_name: "string",
    agent_id: "string?",
    blocked_path: "string?",
    deadline_at: "string?",
    description: "string?",
    inbox_item_id: "string?",
    input: "any?",
    message_sequence: "integer?",
    metadata: "object?",
    parent_tool_use_id: "string?",
    questions: "Question[]=[]",
    reason: "string?",
    required: "boolean=true",
    suggestions: "any[]=[]",
    title: "string?",
    turn_id: "integer?"
  },
  Question: {
    id: "string",
    question: "string",
    free_text: "boolean=true",
    header: "string?",
    multi: "boolean=false",
    options: "QuestionOption[]=[]"
  },
  QuestionOption: {
    label: "string",
    description: "string?"
  },
  BackgroundTask: {
    task_id: "string",
    description: "string?",
    kind: "string?",
    status: "string?",
    tool_use_id: "string?",
    turn_id: "integer?"
  },
  TurnEnd: {
    is_error: "boolean",
    interrupted: "boolean",
    after_sequence: "integer=0",
    cost_usd: "number?",
    duration_ms: "integer?",
    error: "TurnError?",
    origin: "string=\"user\"",
    stop_reason: "string?",
    structured_output: "any?",
    usage: "Usage?"
  },
  TurnError: {
    code: "string",
    message: "string"
  },
  Usage: {
    cache_creation_input_tokens: "integer?",
    cache_read_input_tokens: "integer?",
    input_tokens: "integer?",
    output_tokens: "integer?"
  },
  Totals: {
    cache_creation_input_tokens: "integer=0",
    cache_read_input_tokens: "integer=0",
    cost_usd: "number=0",
    input_tokens: "integer=0",
    output_tokens: "integer=0"
  },
  UserWords: {
    content: "Content[]",
    message_sequence: "integer",
    agent_id: "string?",
    by: "string?",
    client_message_id: "string?",
    origin: "string=\"user\"",
    parent_tool_use_id: "string?"
  },
  Chunk: {
    block_id: "string",
    message_id: "string",
    index: "integer",
    partial: "boolean",
    text: "string",
    aborted: "boolean=false",
    agent_id: "string?",
    blob: "Blob?",
    chunk_seq: "integer?",
    citations: "any[]?",
    error: "string?",
    message_sequence: "integer?",
    model: "string?",
    parent_tool_use_id: "string?",
    snapshot: "boolean=false"
  },
  Thinking: {
    block_id: "string",
    message_id: "string",
    index: "integer",
    partial: "boolean",
    text: "string",
    aborted: "boolean=false",
    agent_id: "string?",
    blob: "Blob?",
    chunk_seq: "integer?",
    message_sequence: "integer?",
    model: "string?",
    parent_tool_use_id: "string?",
    redacted: "string?",
    signature: "string?",
    snapshot: "boolean=false"
  },
  ToolCall: {
    block_id: "string",
    message_id: "string",
    index: "integer",
    partial: "boolean",
    tool_use_id: "string",
    tool_name: "string",
    aborted: "boolean=false",
    agent_id: "string?",
    blob: "Blob?",
    chunk_seq: "integer?",
    input: "any?",
    input_text: "string?",
    message_sequence: "integer?",
    model: "string?",
    parent_tool_use_id: "string?",
    snapshot: "boolean=false",
    tool_type: "string?"
  },
  OtherBlock: {
    block_id: "string",
    message_id: "string",
    index: "integer",
    partial: "boolean",
    aborted: "boolean=false",
    agent_id: "string?",
    blob: "Blob?",
    block: "any?",
    chunk_seq: "integer?",
    message_sequence: "integer?",
    model: "string?",
    parent_tool_use_id: "string?",
    snapshot: "boolean=false"
  },
  ToolProgressed: {
    tool_use_id: "string",
    agent_id: "string?",
    elapsed_seconds: "number?",
    output: "string?",
    parent_tool_use_id: "string?",
    tool_name: "string?"
  },
  ToolResult: {
    tool_use_id: "string",
    is_error: "boolean",
    content: "any",
    message_sequence: "integer",
    agent_id: "string?",
    blob: "Blob?",
    details: "any*",
    details_blob: "Blob?",
    parent_tool_use_id: "string?"
  },
  Discarded: {
    block_ids: "string[]",
    agent_id: "string?",
    parent_tool_use_id: "string?",
    reason: "string?"
  },
  RequestInput: {
    question_id: "string",
    question: "string",
    options: "QuestionOption[]",
    required: "boolean",
    metadata: "object|null",
    inbox_item_id: "string|null",
    deadline_at: "string|null",
    questions: "Question[]",
    block_id: "string",
    message_id: "string",
    index: "integer",
    message_sequence: "integer",
    tool_name: "string",
    agent_id: "string?",
    input: "any?",
    model: "string?",
    parent_tool_use_id: "string?",
    tool_type: "string?"
  },
  PermissionAsked: {
    request_id: "string",
    tool_use_id: "string",
    tool_name: "string",
    input: "any",
    message_sequence: "integer",
    agent_id: "string?",
    blocked_path: "string?",
    deadline_at: "string?",
    description: "string?",
    inbox_item_id: "string?",
    parent_tool_use_id: "string?",
    reason: "string?",
    suggestions: "any[]=[]",
    title: "string?"
  },
  RequestResolved: {
    request_id: "string",
    outcome: "string",
    message_sequence: "integer",
    agent_id: "string?",
    answer: "any?",
    by: "string?",
    decision: "string?",
    delivered_as: "string?",
    parent_tool_use_id: "string?",
    reason: "string?",
    remembered: "any[]=[]",
    updated_input: "any?"
  },
  Interrupted: {
    reason: "string",
    message_sequence: "integer",
    acknowledged: "boolean=false",
    by: "string?",
    forced: "boolean=false",
    processes: "Process[]=[]",
    queue: "string=\"hold\"",
    requested_at: "string?"
  },
  Process: {
    pid: "integer",
    name: "string?",
    signal: "string?"
  },
  ConversationNews: {
    title: "string?",
    totals: "Totals?"
  },
  SystemNews: {
    subtype: "string",
    agent_id: "string?",
    data: "any?",
    message_sequence: "integer?",
    parent_tool_use_id: "string?",
    provider: "string?",
    text: "string?"
  },
  RpcUserMessage: {
    message: "RpcMessageContent",
    provider: "string",
    agent_id: "string?",
    isReplay: "boolean?",
    isSynthetic: "boolean?",
    parent_tool_use_id: "string?",
    uuid: "string?"
  },
  RpcMessageContent: {
    content: "RpcBlock[]?",
    id: "string?",
    index: "integer?",
    model: "string?"
  },
  RpcTextBlock: {
    text: "string",
    citations: "any[]?"
  },
  RpcThinkingBlock: {
    thinking: "string",
    redacted: "string?",
    signature: "string?"
  },
  RpcToolUseBlock: {
    id: "string",
    toolName: "string",
    toolType: "string",
    input: "any",
    status: "'completed''failed''in_progress'",
    input_text: "string?"
  },
  RpcToolResultBlock: {
    tool_use_id: "string",
    content: "any",
    is_error: "boolean"
  },
  RpcImageBlock: {
    source: "RpcImageSource"
  },
  RpcImageSource: {
    type: "string",
    data: "string?",
    media_type: "string?",
    url: "string?"
  },
  FileRefBlock: {
    path: "string",
    status: "'completed''failed''in_progress'",
    mime_type: "string?",
    size: "integer?"
  },
  CommandExecutionBlock: {
    id: "string",
    command: "string",
    status: "'completed''failed''in_progress'",
    cwd: "string?",
    duration_ms: "integer?",
    exit_code: "integer?",
    output: "string?"
  },
  FileChangeBlock: {
    id: "string",
    changes: "FileChange[]",
    status: "'completed''failed''in_progress'"
  },
  FileChange: {
    path: "string",
    kind: "string",
    diff: "string?"
  },
  McpToolCallBlock: {
    id: "string",
    server: "string",
    tool_name: "string",
    arguments: "any",
    status: "'completed''failed''in_progress'",
    error: "string?",
    result: "any?"
  },
  WebSearchBlock: {
    id: "string",
    query: "string",
    status: "'completed''failed''in_progress'",
    results: "any?"
  },
  TodoListBlock: {
    items: "TodoItem[]",
    status: "'completed''failed''in_progress'"
  },
  TodoItem: {
    content: "string",
    status: "string",
    active_form: "string?",
    id: "string?"
  },
  ErrorBlock: {
    message: "string",
    status: "'completed''failed''in_progress'",
    code: "string?"
  },
  RpcAssistantMessage: {
    message: "RpcMessageContent",
    provider: "string",
    aborted: "boolean=false",
    agent_id: "string?",
    error: "string?",
    parent_tool_use_id: "string?"
  },
  RpcResultMessage: {
    subtype: "string",
    duration_ms: "integer",
    duration_api_ms: "integer",
    is_error: "boolean",
    num_turns: "integer",
    session_id: "string",
    provider: "string",
    cost_usd: "number?",
    errors: "string[]?",
    model_usage: "object?",
    result: "string?",
    stop_reason: "string?",
    structured_output: "any?",
    terminal_reason: "string?",
    total_cost_usd: "number?",
    usage: "Usage?"
  },
  RpcStreamEvent: {
    uuid: "string",
    session_id: "string",
    event: "RpcStreamEventData",
    provider: "string",
    agent_id: "string?",
    parent_tool_use_id: "string?"
  },
  RpcMessageStartEvent: {
    message: "RpcMessageContent?"
  },
  RpcContentBlockStartEvent: {
    index: "integer",
    content_block: "RpcBlock"
  },
  RpcContentBlockDeltaEvent: {
    index: "integer",
    delta: "RpcDelta",
    tool_use_id: "string?"
  },
  RpcTextDelta: {
    text: "string"
  },
  RpcThinkingDelta: {
    thinking: "string"
  },
  RpcInputJsonDelta: {
    partial_json: "string"
  },
  RpcOutputDelta: {
    output: "string"
  },
  RpcContentBlockStopEvent: {
    index: "integer"
  },
  RpcMessageDeltaEvent: {
    delta: "RpcMessageDelta",
    usage: "Usage?"
  },
  RpcMessageDelta: {
    stop_reason: "string|null"
  },
  RpcMessageStopEvent: {
    discarded_from: "integer?"
  },
  RpcErrorMessage: {
    message: "string",
    provider: "string",
    code: "string?"
  },
  RpcSystemMessage: {
    subtype: "string",
    session_id: "string",
    provider: "string",
    data: "any*"
  }
};
