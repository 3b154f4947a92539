// A `Chat` of the AI SDK, the state of `useChat`, whose connection breaks and which resumes.
// stdin: {"cases": [{"before": [[place, ...], ...], "later": [[place, ...], ...], "reloads": bool}, ...], "pool": [chunk, ...]}
// The last stream of `before` breaks. The first of `later` is the resumed one, the others follow replies. `reloads`: in a new page.
// stdout: [{"messages": [...], "errors": [...]}, ...]
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/package.json`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);
const { DefaultChatTransport } = await load("ai");
const { Chat } = await load("@ai-sdk/react");

let text = "";
for await (const piece of process.stdin) text += piece;
const { cases, pool } = JSON.parse(text);
const events = pool.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
const encoder = new TextEncoder();

/** A response with these chunks. One that breaks ends as in a browser: the bytes so far, then an error. */
function responseOf(places, breaks) {
  const body = places.map((place) => events[place]).join("") + (breaks ? "" : "data: [DONE]\n\n");
  let isSent = false;
  const pull = (controller) => {
    if (!isSent) controller.enqueue(encoder.encode(body));
    else if (breaks) controller.error(new TypeError("network error"));
    else controller.close();
    isSent = true;
  };
  return new Response(new ReadableStream({ pull }), { headers: { "content-type": "text/event-stream" } });
}

const out = [];
for (const { before, later, reloads } of cases) {
  const errors = [];
  let answer;
  const transport = new DefaultChatTransport({ api: "http://localhost/api/chat", fetch: async () => answer });
  const onError = (error) => void errors.push(String(error));
  const sent = { id: "m-1", role: "user", parts: [{ type: "text", text: "hello" }] };
  let chat = new Chat({ id: "chat-1", transport, onError });
  for (const [place, chunks] of before.entries()) {
    answer = responseOf(chunks, place === before.length - 1);
    await chat.sendMessage(place ? undefined : sent);
  }
  if (reloads) chat = new Chat({ id: "chat-1", transport, onError, messages: [sent] });
  for (const [place, chunks] of later.entries()) {
    answer = responseOf(chunks, false);
    if (place) await chat.sendMessage();
    else await chat.resumeStream();
  }
  out.push({ messages: chat.messages, errors });
}
process.stdout.write(JSON.stringify(out));
