// An HttpAgent of `@ag-ui/client` whose connections are dropped again and again, until it has everything.
// Arguments: the folder with the npm package, the address of the server, the token, how many drops.
// stdout: {"threads": [{"id": ..., "messages": [...], "connects": ..., "resumes": ..., "continued": ...}, ...], "dropped": ..., "inside": ...}
import { once } from "node:events";
import { createRequire } from "node:module";
import { connect, createServer } from "node:net";
import { pathToFileURL } from "node:url";

const [packages, server, token, count] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
const { HttpAgent, runHttpRequest, transformHttpEventStream } = await import(pathToFileURL(require.resolve("@ag-ui/client")).href);

// --- a proxy that drops a connection after so many bytes of a stream, wherever that is ---------------

let streams = 0;
let dropped = 0;
let inside = 0; // drops in the middle of an event
let most = 0; // drops until the next thread: each thread may end in peace
const target = new URL(server);
const proxy = createServer((client) => {
  const upstream = connect(target.port, target.hostname);
  const drop = () => (client.destroy(), upstream.destroy());
  let left = Infinity;
  client.on("data", (bytes) => {
    const head = bytes.toString("latin1", 0, 200);
    if (/^(POST \/agui|GET \S+\/stream\S*) /.test(head)) left = dropped < most ? (streams++ % 8) * (397 + (streams % 11) * 149) : Infinity;
    else if (/^(GET|POST) /.test(head)) left = Infinity;
    upstream.write(bytes);
  });
  upstream.on("data", (bytes) => {
    if (bytes.length > left) {
      dropped += 1;
      inside += /[^\r\n]$/.test(bytes.toString("latin1", 0, left));
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

console.error = () => {}; // the package prints each broken connection
// A broken connection also rejects a promise that is not awaited.
process.on("unhandledRejection", (reason) => {
  if (!/terminated|fetch failed/.test(String(reason))) throw reason;
});

// --- a front end -------------------------------------------------------------------------------------

class Agent extends HttpAgent {
  lastId = null;
  continues = false; // the next connection gets only what is missing

  connect() {
    const place = this.continues && this.lastId ? { "Last-Event-ID": this.lastId } : {};
    const url = `${this.url}/threads/${this.threadId}/stream`;
    return transformHttpEventStream(runHttpRequest(() => this.fetch(url, { headers: { ...this.headers, ...place } })));
  }
}

// Notes the id of each event that is complete. A chunk is taken only when the agent has room for it.
async function noting(url, init) {
  const answer = await fetch(url, init);
  const reader = answer.body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  const pull = async (controller) => {
    const { done, value } = await reader.read();
    if (done) return controller.close();
    const events = (text + decoder.decode(value, { stream: true })).split("\n\n");
    text = events.pop();
    for (const each of events) agent.lastId = /^id: (.*)$/m.exec(each)?.[1] ?? agent.lastId;
    controller.enqueue(value);
  };
  return new Response(new ReadableStream({ pull, cancel: () => reader.cancel() }, { highWaterMark: 0 }), answer);
}

let agent;
const out = [];
for (let talks = 1; dropped < Number(count); talks += 1) {
  const id = `thread-${talks}`;
  most = dropped + 15;
  let hasEnded = false;
  let isContinued = false; // the last connection got only what was missing
  agent = new Agent({ url: `${address}/agui`, threadId: id, headers, fetch: noting });
  agent.subscribe({ onRunFinishedEvent: () => void (hasEnded = true) });
  const message = { id: `m-${talks}`, role: "user", content: "think, use a tool, a long answer" };
  const forwardedProps = { turnwire: { agent: "demo", options: { delay: 0.002 } } };
  let connects = 0;
  let resumes = 0;
  agent.addMessage(message);
  await agent.runAgent({ forwardedProps }).catch(() => {});
  while (!hasEnded || agent.messages.at(-1)?.role === "user") {
    hasEnded = false;
    connects += 1;
    // Every other time only what is missing, otherwise all messages.
    agent.continues = connects % 2 === 1;
    isContinued = agent.continues && agent.lastId !== null;
    resumes += isContinued;
    await agent.connectAgent().catch(() => {});
    if (hasEnded && !agent.messages.some((each) => each.role === "assistant")) {
      hasEnded = false; // the server has never got the message
      if (!agent.messages.some((each) => each.id === message.id)) agent.addMessage(message);
      await agent.runAgent({ forwardedProps }).catch(() => {});
    }
  }
  out.push({ id, messages: agent.messages, connects, resumes, isContinued });
}
proxy.close();
process.stdout.write(JSON.stringify({ threads: out, dropped, inside }), () => process.exit());
