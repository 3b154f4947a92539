// Generated from schema/ by tools/generate.mjs: `make schema` writes it anew. Do not edit.

/** The fields of each member of a union, by its tag. */
export const unions: Record<string, Record<string, string>> = {
  ServerFrame: {
    "session.connected": "epoch first:integer capabilities:Capabilities client_id connection_id head:integer limits:Limits",
    "session.resumed": "epoch first:integer capabilities:Capabilities client_id connection_id head:integer limits:Limits",
    "session.reset": "epoch first:integer reason",
    "message.replay": "message_sequence:integer!",
    "session.replay_complete": "",
    "session.state": "model? reason? title? turn_id:integer? offers? totals:Totals? agent? background_tasks:BackgroundTask[]=[] budget:Budget? last_turn:TurnEnd? last_turn_id:integer? max_thinking_tokens:integer? next_agent? permission_mode? queue:QueueItem[] queue_held:boolean=false requests:OpenRequest[] rules:integer=0 running:boolean session_options:object={} state",
    "session.heartbeat_ack": "",
    "session.error": "",
    "turn.started": "",
    "user.message": "agent_id? parent_tool_use_id? message_sequence:integer by? origin=\"user\" client_message_id? content:Content[] steered_as?",
    "assistant.chunk": "agent_id? parent_tool_use_id? blob:Blob? index:integer model? message_sequence:integer? aborted:boolean=false block_id message_id text chunk_seq:integer? partial:boolean snapshot:boolean=false citations:any[]? error?",
    "assistant.thinking": "agent_id? parent_tool_use_id? blob:Blob? index:integer model? message_sequence:integer? aborted:boolean=false block_id message_id text chunk_seq:integer? partial:boolean snapshot:boolean=false redacted? signature?",
    "assistant.tool_call": "agent_id? parent_tool_use_id? blob:Blob? index:integer model? message_sequence:integer? tool_use_id aborted:boolean=false block_id message_id tool_name chunk_seq:integer? input:any? partial:boolean snapshot:boolean=false input_text? tool_type?",
    "assistant.block": "agent_id? parent_tool_use_id? blob:Blob? index:integer model? message_sequence:integer? aborted:boolean=false block_id message_id chunk_seq:integer? partial:boolean snapshot:boolean=false block:any?",
    "assistant.tool_progress": "agent_id? parent_tool_use_id? tool_use_id output? elapsed_seconds:number? tool_name?",
    "assistant.tool_result": "agent_id? parent_tool_use_id? blob:Blob? message_sequence:integer tool_use_id is_error:boolean content:any details:any* details_blob:Blob?",
    "assistant.discarded": "agent_id? parent_tool_use_id? reason? block_ids:string[]",
    "assistant.request_input": "agent_id? parent_tool_use_id? index:integer model? message_sequence:integer block_id message_id tool_name input:any? question tool_type? announced:boolean=false deadline_at! inbox_item_id! metadata:object! options:QuestionOption[] question_id questions:Question[] required:boolean",
    "assistant.permission_request": "agent_id? parent_tool_use_id? description? message_sequence:integer tool_use_id reason? tool_name title? request_id blocked_path? deadline_at? decision_only:boolean=false inbox_item_id? suggestions:any[]=[] input:any",
    "assistant.request_resolved": "agent_id? parent_tool_use_id? message_sequence:integer reason? by? request_id answer:any? decision? delivered_as? narrowed:any[]=[] outcome remembered:any[]=[] updated_input:any?",
    "assistant.complete": "is_error:boolean usage:Usage? cost_usd:number? duration_ms:integer? origin=\"user\" stop_reason? structured_output:any? after_sequence:integer=0 error:TurnError? interrupted:boolean",
    "conversation.interrupted": "message_sequence:integer by? reason acknowledged:boolean=false forced:boolean=false lost:boolean=false processes:Process[]=[] queue=\"hold\" requested_at?",
    "conversation.updated": "title? totals:Totals?",
    "session.system_event": "agent_id? parent_tool_use_id? message_sequence:integer? subtype data:any? provider? text?",
    "user.message.ack": "",
    "user.input_response.ack": "",
    "user.permission_response.ack": "",
    "user.interrupt.ack": "",
    "user.queue.ack": "",
    "user.rewind.ack": "",
    "session.forget_rule.ack": "",
    "session.set_agent.ack": "",
    "session.set_model.ack": "",
    "session.set_permission_mode.ack": "",
    "session.set_max_thinking_tokens.ack": "",
    "session.control.ack": ""
  },
  Content: {
    text: "blob:Blob? text citations:any[]?",
    image: "blob:Blob? mime_type? data? url?",
    file_ref: "blob:Blob? mime_type? path size:integer?"
  },
  RpcMessage: {
    user: "agent_id? parent_tool_use_id? provider message:RpcMessageContent steered_as? isReplay:boolean? isSynthetic:boolean? uuid?",
    assistant: "agent_id? parent_tool_use_id? provider aborted:boolean=false error? message:RpcMessageContent",
    result: "provider is_error:boolean usage:Usage? cost_usd:number? session_id stop_reason? structured_output:any? subtype duration_api_ms:integer duration_ms:integer errors:string[]? model_usage:object? num_turns:integer result? terminal_reason? total_cost_usd:number?",
    stream_event: "agent_id? parent_tool_use_id? provider session_id event:RpcStreamEventData uuid",
    error: "provider message code?",
    system: "provider session_id subtype data:any*"
  },
  RpcBlock: {
    text: "text citations:any[]?",
    thinking: "redacted? signature? thinking",
    tool_use: "id input:any? input_text? status:'completed''failed''in_progress'=\"in_progress\" toolName toolType",
    tool_result: "tool_use_id content:any? is_error:boolean=false",
    image: "source:RpcImageSource",
    file_ref: "status:'completed''failed''in_progress' mime_type? path size:integer?",
    command_execution: "status:'completed''failed''in_progress' id duration_ms:integer? output? command cwd? exit_code:integer?",
    file_change: "status:'completed''failed''in_progress' id changes:FileChange[]",
    mcp_tool_call: "status:'completed''failed''in_progress' id tool_name error? arguments:any result:any? server",
    web_search: "status:'completed''failed''in_progress' id query results:any?",
    todo_list: "status:'completed''failed''in_progress' items:TodoItem[]",
    error: "status:'completed''failed''in_progress' message code?"
  },
  RpcStreamEventData: {
    message_start: "message:RpcMessageContent?",
    content_block_start: "index:integer content_block:RpcBlock",
    content_block_delta: "index:integer tool_use_id? delta:RpcDelta",
    content_block_stop: "index:integer",
    message_delta: "usage:Usage? delta:RpcMessageDelta",
    message_stop: "discarded_from:integer?"
  },
  RpcDelta: {
    text_delta: "text",
    thinking_delta: "thinking",
    input_json_delta: "partial_json",
    output_delta: "output"
  }
};

/** The fields of each other object. */
export const shapes: Record<string, string> = {
  OptionValue: "description? name? value",
  SessionOption: "description? name? kind? option values:OptionValue[]=[]",
  Capabilities: "offers? agent commands:string[] controls:string[]=[] files:string[]=[] fork:boolean=false images:boolean=false models:string[]=[] permission_modes:string[]=[] session_options:SessionOption[]=[] steer:boolean=false",
  Limits: "heartbeat_seconds:integer max_frame_bytes:integer max_queue:integer",
  Blob: "mime_type? size:integer? blob_id",
  QueueItem: "by? client_message_id? content:Content[] created_at? queue_id steers:integer?",
  QuestionOption: "description? label",
  Question: "id question free_text:boolean=true header? multi:boolean=false options:QuestionOption[]=[] required:boolean=false",
  OpenRequest: "agent_id? parent_tool_use_id? description? message_sequence:integer? tool_use_id reason? tool_name input:any? title? request_id turn_id:integer? blocked_path? deadline_at? decision_only:boolean=false inbox_item_id? kind suggestions:any[]=[] metadata:object? questions:Question[]=[] required:boolean=true",
  BackgroundTask: "description? turn_id:integer? kind? tool_use_id? status? task_id",
  Budget: "limit:number spent:number",
  TurnError: "message code",
  Usage: "cache_creation_input_tokens:integer? cache_read_input_tokens:integer? input_tokens:integer? output_tokens:integer?",
  TurnEnd: "is_error:boolean usage:Usage? cost_usd:number? duration_ms:integer? origin=\"user\" stop_reason? structured_output:any? after_sequence:integer=0 error:TurnError? interrupted:boolean",
  Totals: "cache_creation_input_tokens:integer=0 cache_read_input_tokens:integer=0 cost_usd:number=0 input_tokens:integer=0 output_tokens:integer=0",
  Process: "name? left:boolean=false pid:integer signal?",
  Envelope: "conversation_id sequence:integer! timestamp trace_id! turn_id:integer!",
  RpcImageSource: "data? url? media_type? type",
  FileChange: "path kind diff?",
  TodoItem: "id? active_form? content status",
  RpcMessageContent: "model? id? content:RpcBlock[]? index:integer?",
  RpcMessageDelta: "stop_reason!"
};
