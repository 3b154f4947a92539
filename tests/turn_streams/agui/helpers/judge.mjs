// Runs streams of AG-UI events through HttpAgent of `@ag-ui/client`, as a front end does.
// stdin: {"cases": [[{"messages": [...], "events": [...], "resume": [...]}, ...], ...], "pool": [...]}; each case is one client, with its runs.
// An event may also be a number: its place in the pool. `resume` may be true: every open interrupt is answered.
// A run with `connect` reconnects, in the place that the package leaves to applications.
// stdout: [{"messages": [...], "state": ..., "interrupts": [[id, ...], ...], "errors": [...], "warnings": [...]}, ...]
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/package.json`);
const { HttpAgent, runHttpRequest, transformHttpEventStream } = await import(pathToFileURL(require.resolve("@ag-ui/client")).href);

class Agent extends HttpAgent {
  connect() {
    return transformHttpEventStream(runHttpRequest(() => this.fetch(`${this.url}/stream`)));
  }
}

const allowed = (asked) => ({ interruptId: asked.id, status: "resolved", payload: true });
let text = "";
for await (const piece of process.stdin) text += piece;
const out = [];
const { cases, pool } = JSON.parse(text);
const written = (event) => JSON.stringify(typeof event === "number" ? pool[event] : event);
for (const runs of cases) {
  const errors = [];
  const warnings = [];
  const interrupts = [];
  console.warn = (said) => warnings.push(String(said));
  console.error = () => {};
  let now = runs[0];
  const body = () => now.events.map((event) => `id: 1\ndata: ${written(event)}\n\n`).join(": still here\n\n");
  const answer = () => new Response(body(), { headers: { "content-type": "text/event-stream" } });
  const agent = new Agent({ url: "http://localhost/agui", threadId: "thread-1", fetch: async () => answer() });
  for (now of runs) {
    for (const message of now.messages ?? []) agent.messages.push(message);
    try {
      const resume = now.resume === true ? agent.pendingInterrupts.map(allowed) : now.resume;
      if (now.connect) await agent.connectAgent();
      else await agent.runAgent({ runId: "run-1", resume });
    } catch (error) {
      errors.push(String(error));
    }
    interrupts.push(agent.pendingInterrupts.map((each) => each.id));
  }
  out.push({ messages: agent.messages, state: agent.state, interrupts, errors, warnings });
}
process.stdout.write(JSON.stringify(out));
