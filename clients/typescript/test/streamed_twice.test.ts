// A message that is streamed and then sent as a whole is shown once. The calls of a message are one
// message, and a reader accepts every form of its beginning.
import { describe, expect, test } from "vitest";
import { readRpcMessage, Transcript, type View } from "../src/node.js";

let count = 0;

function event(data: Record<string, unknown>): Record<string, unknown> {
  count += 1;
  return { type: "stream_event", uuid: `evt-${count}`, session_id: "s", event: data, provider: "claude" };
}

const block = (index: number, content_block: object) =>
  event({ type: "content_block_start", index, content_block });
const delta = (index: number, given: object) => event({ type: "content_block_delta", index, delta: given });
const stop = (index: number) => event({ type: "content_block_stop", index });
const call = (id: string) => ({
  type: "tool_use",
  id,
  toolName: "Read",
  toolType: "CLAUDE_READ",
  input: { file_path: id },
  status: "in_progress",
});
const assistant = (...content: object[]) => ({ type: "assistant", message: { content }, provider: "claude" });
const result = (id: string) => ({
  type: "user",
  message: {
    content: [{ type: "tool_result", tool_use_id: id, content: `content of ${id}`, is_error: false }],
  },
  provider: "claude",
});

function shown(messages: object[]): View {
  const transcript = new Transcript();
  for (const message of messages) transcript.apply(readRpcMessage(message));
  return transcript.view();
}

const beginnings = [
  { type: "message_start", message: { id: "msg_1", content: null } },
  { type: "message_start", message: { id: "msg_1" } },
  { type: "message_start", message: { id: "msg_1", content: [], model: null } },
  { type: "message_start", message: null },
  { type: "message_start" },
];

describe.each(beginnings.map((start) => ({ start, name: JSON.stringify(start) })))(
  "begun with $name",
  ({ start }) => {
    const streamed = [
      event(start),
      block(0, { type: "thinking", thinking: "" }),
      delta(0, { type: "thinking_delta", thinking: "Let me look." }),
      stop(0),
      block(1, { type: "text", text: "" }),
      delta(1, { type: "text_delta", text: "Two " }),
      delta(1, { type: "text_delta", text: "files." }),
      stop(1),
      block(2, { ...call("a"), input: null }),
      delta(2, { type: "input_json_delta", partial_json: '{"file_path": "a"}' }),
      stop(2),
      block(3, { ...call("b"), input: null }),
      delta(3, { type: "input_json_delta", partial_json: '{"file_path": "b"}' }),
      stop(3),
    ];
    const end = [
      event({ type: "message_delta", delta: { stop_reason: "tool_use" } }),
      event({ type: "message_stop" }),
    ];
    const whole = assistant(
      { type: "thinking", thinking: "Let me look." },
      { type: "text", text: "Two files." },
      call("a"),
      call("b"),
    );
    const parts = whole.message.content.map((each) => assistant(each));

    const orders: [string, object[]][] = [
      ["whole, before it ends", [...streamed, whole, ...end]],
      ["whole, after its end", [...streamed, ...end, whole]],
      ["block by block, before it ends", [...streamed, ...parts, ...end]],
      ["block by block, after its end", [...streamed, ...end, ...parts]],
    ];

    test.each(orders)("and sent %s: one message, and each of its blocks once", (_, messages) => {
      const view = shown([...messages, result("b"), result("a")]);
      expect(view.messages).toHaveLength(1);
      const [message] = view.messages;
      expect(message?.streaming).toBeUndefined();
      expect(message?.blocks).toMatchObject([
        { type: "thinking", text: "Let me look.", status: "complete" },
        { type: "text", text: "Two files.", status: "complete" },
        { type: "tool", id: "a", input: { file_path: "a" }, result: { content: "content of a" } },
        { type: "tool", id: "b", input: { file_path: "b" }, result: { content: "content of b" } },
      ]);
      // The message keeps its id from streaming, so that the screen does not render it anew.
      expect(message?.id).toBe(shown(streamed).messages[0]?.id);
    });

    test("and never sent as a whole: the streamed blocks stay", () => {
      expect(shown([...streamed, ...end]).messages[0]?.blocks).toHaveLength(4);
    });
  },
);

test("a finished message without streaming is a separate message", () => {
  const view = shown([assistant({ type: "text", text: "One." }), assistant({ type: "text", text: "Two." })]);
  expect(view.messages.map((message) => message.blocks)).toMatchObject([
    [{ text: "One." }],
    [{ text: "Two." }],
  ]);
});
