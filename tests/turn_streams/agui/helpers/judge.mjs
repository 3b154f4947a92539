// Runs streams of AG-UI events through HttpAgent of `@ag-ui/client`, as a front end does.
// stdin: {"cases": [[{"messages": [...], "events": [...], "resume": [...]}, ...], ...]}; each case is one client, with its runs.
// stdout: [{"messages": [...], "state": ..., "interrupts": [[id, ...], ...], "errors": [...], "warnings": [...]}, ...]
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/package.json`);
const { HttpAgent } = await import(pathToFileURL(require.resolve("@ag-ui/client")).href);

let text = "";
for await (const piece of process.stdin) text += piece;
const out = [];
for (const runs of JSON.parse(text).cases) {
  const errors = [];
  const warnings = [];
  const interrupts = [];
  console.warn = (said) => warnings.push(String(said));
  console.error = () => {};
  let now = runs[0];
  const body = () => now.events.map((event) => `id: 1\ndata: ${JSON.stringify(event)}\n\n`).join(": still here\n\n");
  const answer = () => new Response(body(), { headers: { "content-type": "text/event-stream" } });
  const agent = new HttpAgent({ url: "http://localhost/agui", threadId: "thread-1", fetch: async () => answer() });
  for (now of runs) {
    for (const message of now.messages ?? []) agent.messages.push(message);
    try {
      await agent.runAgent({ runId: "run-1", resume: now.resume });
    } catch (error) {
      errors.push(String(error));
    }
    interrupts.push(agent.pendingInterrupts.map((each) => each.id));
  }
  out.push({ messages: agent.messages, state: agent.state, interrupts, errors, warnings });
}
process.stdout.write(JSON.stringify(out));
