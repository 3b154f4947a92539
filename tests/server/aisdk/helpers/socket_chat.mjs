// A `Chat` of the AI SDK with its `WebSocketChatTransport`: talk, permission, question, another answer, resume and stop.
// Arguments: the folder with the npm packages, the address of the server, the token.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, server, token] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { WebSocketChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, safeValidateUIMessages } =
  await load("ai");
const { Chat } = await load("@ai-sdk/react");
const { WebSocket } = require("ws");

class Socket extends WebSocket {
  constructor(url, offered) {
    super(url, offered, { headers: { Authorization: `Bearer ${token}` } });
  }
}
const errors = [];
function make(id, options) {
  const transport = new WebSocketChatTransport({
    url: `${server}/ws/chat`,
    webSocket: Socket,
    body: { agent: "demo", options },
  });
  const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses;
  const onError = (error) => errors.push(String(error));
  return new Chat({ id, transport, sendAutomaticallyWhen, onError });
}
/** Waits until the last message fulfils a condition. */
async function until(chat, that) {
  while (!that(chat.messages.at(-1) ?? { parts: [] })) await new Promise((later) => setTimeout(later, 10));
}
const hasEnded = ({ metadata }) => metadata?.turnwire?.state === "ended";
const part = (message, type) => message.parts.find((each) => each.type === type);

const chat = make("quick", { delay: 0 });
await chat.sendMessage({ text: "think, use a tool, want permission" });
const asked = chat.messages.at(-1).parts.find((each) => each.state === "approval-requested");
await chat.addToolApprovalResponse({ id: asked.approval.id, approved: true });
await until(chat, hasEnded);
await chat.sendMessage({ text: "question" });
part(chat.messages.at(-1), "data-question").data.answer = "Blue";
await chat.sendMessage();
const talked = structuredClone(chat.messages);
await chat.regenerate();
const again = structuredClone(chat.messages);
part(chat.messages.at(-1), "data-question").data.answer = "Green";
await chat.sendMessage();
await chat.dispose();

// An answer that is stopped is resumed: only its stream has ended.
const slow = make("slow", { delay: 0.005 });
const long = slow.sendMessage({ text: "use a tool, long" });
await until(slow, (message) => (part(message, "text")?.text ?? "").length > 20);
await slow.stop();
await long;
const begun = slow.messages.at(-1).parts.length;
await slow.resumeStream();
const resumed = structuredClone(slow.messages);
await slow.resumeStream(); // nothing runs
await slow.dispose();
const headers = { Authorization: `Bearer ${token}` };
const { messages } = await (await fetch(`${server}/api/chat/quick/messages`, { headers })).json();
const checked = await safeValidateUIMessages({ messages });
if (!checked.success) errors.push(String(checked.error));
process.stdout.write(JSON.stringify({ talked, again, last: chat.messages, begun, resumed, errors, status: slow.status }), () => process.exit());
