import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";

class TurnwireAgent extends HttpAgent {
  /** Joins the thread: its messages, and the answer that runs. */
  connect() {
    const address = `${this.url}/threads/${this.threadId}/stream`;
    return transformHttpEventStream(runHttpRequest(() => this.fetch(address, { headers: this.headers })));
  }
}

const address = new URL(location.href);
if (!address.searchParams.has("thread")) {
  address.searchParams.set("thread", crypto.randomUUID());
  history.replaceState(null, "", address);
}
const server = import.meta.env.VITE_TURNWIRE_URL ?? "http://127.0.0.1:7410";
const agent = new TurnwireAgent({
  url: `${server}/agui`,
  threadId: address.searchParams.get("thread"),
  headers: { Authorization: `Bearer ${new URLSearchParams(address.hash.slice(1)).get("token")}` },
});
const find = (name) => document.querySelector(name);
const make = (kind, text, more = {}) => Object.assign(document.createElement(kind), { textContent: text, ...more });

// --- runs ----------------------------------------------------------------------------------------

let isRunning = false;
let said = "";
let requests = [];
const answers = {}; // to the questions of forms, by the id of the request

/** Runs until the run has ended. After a broken connection it asks again: the server takes everything once. */
async function follow(run) {
  isRunning = true;
  requests = [];
  for (let hasEnded = false; !hasEnded; ) {
    try {
      await run({
        onRunStartedEvent: () => say(""),
        onRunFinishedEvent: () => void (hasEnded = true),
        onRunErrorEvent: ({ event }) => {
          hasEnded = event.code !== "abort";
          say(event.message);
        },
      });
    } catch (error) {
      if (error.status && error.status < 500) {
        say(error.message);
        break;
      }
    }
    if (!hasEnded) {
      say("offline");
      await new Promise((later) => setTimeout(later, 300));
    }
  }
  isRunning = false;
  requests = agent.pendingInterrupts;
  draw();
}

function say(text) {
  said = text;
  draw();
}

const resume = (interruptId, payload) =>
  follow((on) => agent.runAgent({ resume: [{ interruptId, status: "resolved", payload }] }, on));

// --- the page ------------------------------------------------------------------------------------

function draw() {
  const { messages } = agent;
  const results = new Map(messages.filter((each) => each.role === "tool").map((each) => [each.toolCallId, each]));
  find("header").textContent = [said, isRunning && "running"].filter(Boolean).join(", ") || "ready";
  find("#stop").disabled = !isRunning;
  find("main").replaceChildren(...messages.filter(isShown).map((each) => message(each, results)));
  find("#requests").replaceChildren(...requests.map(request));
}

const isShown = ({ role, metadata }) => role !== "tool" && !metadata?.turnwire?.discarded;

function message({ role, content, toolCalls, subagentRunId }, results) {
  const text = role === "activity" ? JSON.stringify(content) : typeof content === "string" ? content : "";
  const drawn = make("section", "");
  drawn.append(make("b", subagentRunId ? `${role} of a sub-agent` : role));
  drawn.append(make("p", text, { style: "white-space: pre-wrap" }));
  for (const { id, function: called } of toolCalls ?? []) {
    const result = results.get(id);
    const state = result ? (result.metadata?.turnwire?.isError ? "failed" : "done") : "...";
    const card = make("details", "");
    card.append(make("summary", `${called.name} ${state}`), make("code", called.arguments));
    card.append(make("pre", result?.content ?? ""));
    drawn.append(card);
  }
  return drawn;
}

/** Draws a permission as two buttons, and each question as its options. */
function request({ id, reason, message, metadata }) {
  const asked = metadata.turnwire;
  const drawn = make("p", `${message} `);
  const choose = (text, payload) => drawn.append(make("button", text, { onclick: () => resume(id, payload) }));
  if (reason === "tool_call") {
    drawn.append(make("code", JSON.stringify(asked.input)));
    choose("Allow", { approved: true });
    choose("Deny", { approved: false });
    return drawn;
  }
  const chosen = (answers[id] ??= {}); // of a form: it is sent when each question has an answer
  const pick = (name, words) => (asked.questions[1] ? draw((chosen[name] = words)) : resume(id, words));
  for (const { id: name, question, options = [] } of asked.questions) {
    const field = make("fieldset", `${question} ${chosen[name] ?? ""}`);
    for (const { label } of options) field.append(make("button", label, { onclick: () => pick(name, label) }));
    field.append(make("button", "Other", { onclick: () => pick(name, prompt(question) ?? "never mind") }));
    drawn.append(field);
  }
  const isWhole = asked.questions.every(({ id: name }) => name in chosen);
  if (isWhole) drawn.append(make("button", "Answer", { onclick: () => resume(id, chosen) }));
  return drawn;
}

let isDrawn = true;
agent.subscribe({
  onMessagesChanged: () => {
    if (!isDrawn) return;
    isDrawn = false; // one update for each frame of the screen, however many pieces come
    requestAnimationFrame(() => {
      isDrawn = true;
      draw();
    });
  },
});
find("form").onsubmit = (event) => {
  event.preventDefault();
  if (isRunning) return;
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: find("input").value });
  event.target.reset();
  follow((on) => agent.runAgent({}, on));
};
find("#stop").onclick = () => {
  fetch(`${agent.url}/threads/${agent.threadId}/stop`, { method: "POST", headers: agent.headers });
};
follow((on) => {
  agent.pendingInterrupts = []; // they come again
  return agent.connectAgent({}, on);
});
