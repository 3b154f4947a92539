// A `Chat` of the AI SDK whose connections are dropped again and again, until it has everything.
// Arguments: the folder with the npm packages, the address of the server, the token, `http`, `version-5` or `socket`, how many drops.
import { once } from "node:events";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { pathToFileURL } from "node:url";

const [packages, server, token, kind, count] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { DefaultChatTransport, WebSocketChatTransport } = await load("ai");
const { Chat } = await load("@ai-sdk/react");
const { WebSocket } = require("ws");

// --- a proxy that drops a connection after so many bytes of a stream ---------------------------------

let streams = 0;
let dropped = 0;
let most = 0; // drops until the next chat: each chat may end in peace
const target = new URL(server);
const proxy = createServer((client) => {
  const upstream = connect(target.port, target.hostname);
  const drop = () => (client.destroy(), upstream.destroy());
  let left = Infinity;
  client.on("data", (bytes) => {
    const head = bytes.toString("latin1", 0, 200);
    if (/^(POST \/api\/chat|GET \S+\/stream|GET \/ws\/chat)(\?\S*)? /.test(head))
      left = dropped < most ? (streams++ % 7) * (400 + (streams % 11) * 150) : Infinity;
    else if (/^(GET|POST) /.test(head)) left = Infinity;
    upstream.write(bytes);
  });
  upstream.on("data", (bytes) => {
    if (bytes.length > left) {
      dropped += 1;
      client.write(bytes.subarray(0, left), drop);
      left = 0;
      return;
    }
    left -= bytes.length;
    client.write(bytes);
  });
  for (const each of [client, upstream]) each.on("error", drop).on("close", drop);
}).listen(0, "127.0.0.1");
await once(proxy, "listening");
const address = `http://127.0.0.1:${proxy.address().port}`;
const headers = { Authorization: `Bearer ${token}` };

// --- chats -------------------------------------------------------------------------------------------

const body = { agent: "demo", options: { delay: 0.002 } };
const protocols = ["turnwire.chat", ""];
class Socket extends WebSocket {
  constructor(url, offered) {
    super(url, offered, { origin: address }); // as a browser does
  }
}
const isOld = kind === "version-5"; // it cannot resume in the same page
const version = isOld ? "?version=5" : "";
const transport =
  kind !== "socket"
    ? new DefaultChatTransport({ api: `${address}/api/chat${version}`, headers, body })
    : new WebSocketChatTransport({
        url: `${address}/ws/chat`,
        protocols,
        // A ticket opens one connection.
        params: async () => {
          const answer = await fetch(`${address}/api/tickets`, { method: "POST", headers });
          protocols[1] = `ticket.${(await answer.json()).ticket}`;
          return {};
        },
        webSocket: Socket,
        body,
      });

async function history(id) {
  for (;;) {
    const answer = await fetch(`${address}/api/chat/${id}/messages${version}`, { headers }).catch(() => null);
    if (answer?.ok) return (await answer.json()).messages;
  }
}

const out = [];
for (let talks = 1; dropped < count; talks += 1) {
  const id = `${kind}-${talks}`;
  most = dropped + 12;
  let isWhole = false;
  const onFinish = ({ isError, isAbort, message }) =>
    void (isWhole = !isError && !isAbort && message.metadata?.turnwire?.state === "ended");
  const newChat = (messages = []) => new Chat({ id, transport, onFinish, messages });
  let chat = newChat();
  const words = "think, use a tool, a long answer";
  const message = { id: `m-${talks}`, role: "user", parts: [{ type: "text", text: words }] };
  let resumes = 0;
  let isStreamed = true; // to its end; otherwise the turn has ended while the chat was not connected
  await chat.sendMessage(message);
  while (!isWhole) {
    resumes += 1;
    // Every other time on top of what the page has, otherwise with the messages of the server.
    if (resumes % 2 && !isOld) await chat.resumeStream();
    if (isWhole) break;
    const told = await history(id);
    if (isOld) chat = newChat(told);
    else chat.messages = told;
    if (!told.some((each) => each.id === message.id)) {
      chat.messages = [];
      await chat.sendMessage(message);
    } else if (told.length === 2) [isWhole, isStreamed] = [true, false];
    else await chat.resumeStream();
  }
  transport.close?.(); // the next chat has a socket of its own, which can be dropped
  out.push({ id, messages: chat.messages, resumes, isStreamed });
}
proxy.close();
process.stdout.write(JSON.stringify({ chats: out, dropped }), () => process.exit());
