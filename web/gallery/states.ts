// The states of a conversation that the gallery shows, each as a conversation with fixed frames.
import { Script } from "./script";

export interface State {
  id: string;
  title: string;
  script: Script;
  /** What happens after the frames; by default the connection stays. */
  ending?: "lost" | "closed" | "silent";
  archived?: boolean;
  labels?: string[];
  pinned?: boolean;
  /** The tokens in the agent's context, of 200,000, after its only turn. */
  context?: number;
  /** Whether the list has a mark at it. */
  isUnread?: boolean;
}

const MARKDOWN = `## Birds of the harbour

The **herring gull** is *common*, \`Larus argentatus\` is its name, and [a page](https://birds.example) tells more.[^1]

- [x] Count the nests
- [ ] Write the report

| bird | nests |
|---|---:|
| gull | 12 |
| tern | 3 |

> A quoted line.

\`\`\`ts
const nests: number = 15; // all of them
\`\`\`

The mean is $\\frac{15}{2}$.

[^1]: In the spring.
`;
const LONG = "a_very_long_word_that_has_no_place_to_break_".repeat(6);
/** Prose without marks, to measure its lines. */
const PROSE = [
  "The herring gull nests on the roofs of the harbour, and the terns keep to the breakwater. ".repeat(4),
  "Both come back in March, and both leave when the boats are taken out of the water. ".repeat(3),
].join("\n\n");
const CHINESE = `## 港口的鸟类

**银鸥**在港口的屋顶上筑巢，燕鸥则留在防波堤上。${"它们三月回来，等渔船离开水面时才走。".repeat(6)}

1. 数一数鸟巢
2. 写一份报告

\`\`\`python
nests = 15  # 全部鸟巢
\`\`\`
`;
/** A change with lines before and after it. */
const LINES = Array.from({ length: 14 }, (_, line) => `place_${line} = nests(harbour, row=${line})\n`);
const ANSI = "\u001b[32m12 passed\u001b[0m, \u001b[31m1 failed\u001b[0m\n";

const states: State[] = [];

function state(title: string, write: (script: Script) => Script, more: Partial<State> = {}): void {
  const id = more.id ?? title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  states.push({ id, title, script: write(new Script(id)), ...more });
}

// Messages
state("Message: whole answer", (talk) => talk.said("What lives in the harbour?").text(MARKDOWN).end());
state("Message: growing answer", (talk) =>
  talk
    .said("What lives there?")
    .growing("assistant.chunk", "There are **gulls** and\n\n```mermaid\ngraph TD; A-->"),
);
state("Message: diagram", (talk) =>
  talk.said("Draw it.").text("```mermaid\nsequenceDiagram\n  Ann->>Bob: Hello\n  Bob-->>Ann: Hi\n```").end(),
);
state("Message: long words", (talk) => talk.said(LONG).text(`${LONG} and \`${LONG}\``).end());
state("Message: prose", (talk) => talk.said("Tell me about the birds of the harbour.").text(PROSE).end());
state(
  "消息：中文回答",
  (talk) => talk.said("港口里有哪些鸟？请写得简短一些。").thinking("先看看资料。").text(CHINESE).end(),
  { id: "message-chinese" },
);
state("Message: thinking now", (talk) =>
  talk.said("Why?").growing("assistant.thinking", "The test looks at a clock."),
);
state("Message: thoughts", (talk) =>
  talk
    .said("Why?")
    .thinking("The test looks at a clock.")
    .thinking("", { redacted: "x" })
    .text("A clock.")
    .end(),
);
state("Message: interrupted", (talk) =>
  talk
    .said("Count to a million.")
    .text("One, two")
    .add("conversation.interrupted", { reason: "user", message_sequence: 3, by: "ann", acknowledged: true })
    .end({ interrupted: true, stop_reason: undefined }),
);
state("Message: steered", (talk) =>
  talk
    .said("Begin.")
    .text("I begin.")
    .add("user.message", {
      content: [{ type: "text", text: "And hurry." }],
      message_sequence: 3,
      client_message_id: "m-9",
      by: "ann",
      steered: true,
    }),
);
state("Message: file and markup", (talk) =>
  talk
    .said(
      'Read it.\n<file name="notes.txt">\nOne line.\n</file>\n<system-reminder>Be careful.</system-reminder>',
    )
    .text("Read.")
    .end(),
);
state("Message: structured output", (talk) =>
  talk
    .said("As JSON.")
    .text("Here.")
    .end({ structured_output: { birds: ["gull", "tern"], nests: 15 } }),
);
state("Message: unknown block", (talk) =>
  talk.said("Go.").add("assistant.block", {
    block_id: "msg-x:0",
    message_id: "msg-x",
    index: 0,
    partial: false,
    message_sequence: 2,
    block: { type: "something_new", value: 1 },
  }),
);

/** Enough messages for the rail, with a failed turn and an open request. */
const QUESTIONS = [
  "What lives in the harbour?",
  "How many nests are there?",
  LONG,
  "Draw them.",
  "And the terns?",
];
state("Rail: many messages", (talk) => {
  for (let round = 0; round < 3; round += 1)
    for (const question of QUESTIONS) {
      const failed = { is_error: true, error: { code: "api_error", message: "The API is overloaded." } };
      talk
        .said(question)
        .text(PROSE)
        .end(question === QUESTIONS[3] ? failed : {});
    }
  return talk.said("Clean up.").permission("Bash", { command: "make clean" });
});

// Tool cards: each kind while it runs, done, and failed
interface Tool {
  name: string;
  input: unknown;
  result: unknown;
  details?: unknown;
}
const TOOLS: Record<string, Tool> = {
  command: { name: "Bash", input: { command: "make test", description: "Run the tests" }, result: ANSI },
  change: {
    name: "Edit",
    input: { file_path: "src/birds.py", old_string: "nests = 14\n", new_string: "nests = 15\n" },
    result: "Changed.",
  },
  "new file": {
    name: "Write",
    input: { file_path: "notes.md", content: "# Notes\n\nOne.\n" },
    result: "Written.",
  },
  read: { name: "Read", input: { file_path: "src/birds.py" }, result: "1\tnests = 15\n" },
  search: { name: "Grep", input: { pattern: "nests", path: "src" }, result: "src/birds.py" },
  web: { name: "WebSearch", input: { query: "herring gull" }, result: "3 results" },
  mcp: { name: "mcp__birds__count", input: { where: "harbour" }, result: '{"nests":15}' },
  list: {
    name: "TodoWrite",
    input: {
      todos: [
        { content: "Count the nests", status: "completed" },
        { content: "Write the report", status: "in_progress", activeForm: "Writing the report" },
        { content: "Send it", status: "pending" },
      ],
    },
    result: "Noted.",
  },
  agent: {
    name: "Agent",
    input: { description: "survey the docs", prompt: "Read all of them.", subagent_type: "reader" },
    result: "Read.",
  },
  unknown: { name: "Telescope", input: { angle: 42, target: { name: "moon" } }, result: { seen: true } },
};
for (const [kind, { name, input, result }] of Object.entries(TOOLS)) {
  state(`Tool ${kind}: running`, (talk) => talk.said("Do it.").call("one", name, input).progress("one"));
  state(`Tool ${kind}: done`, (talk) =>
    talk.said("Do it.").call("one", name, input).result("one", result).text("Done.").end(),
  );
  state(`Tool ${kind}: failed`, (talk) =>
    talk
      .said("Do it.")
      .call("one", name, input)
      .result("one", "Exit code 2\nIt does not exist.", { is_error: true })
      .end(),
  );
}
state("Tool command: live output", (talk) =>
  talk.said("Do it.").call("one", "Bash", { command: "make test" }).progress("one", `${ANSI}page 2 of 9\n`),
);
state("Tool command: long output", (talk) =>
  talk
    .said("Do it.")
    .call("one", "Bash", { command: "seq 1000" })
    .result("one", Array.from({ length: 1000 }, (_, line) => `line ${line}`).join("\n"))
    .end(),
);
state("Tool command: growing call", (talk) =>
  talk.said("Do it.").add("assistant.tool_call", {
    block_id: "one",
    message_id: "msg-1",
    index: 0,
    partial: true,
    tool_use_id: "one",
    tool_name: "Bash",
    input_text: '{"command": "make te',
    chunk_seq: 1,
  }),
);
state("Tool agent: with messages", (talk) =>
  talk
    .said("Survey.")
    .call("one", "Agent", TOOLS.agent?.input)
    .call("two", "Grep", { pattern: "nests" }, { parent_tool_use_id: "one", agent_id: "ag-1" })
    .result("two", "src/birds.py", { parent_tool_use_id: "one", agent_id: "ag-1" })
    .result("one", "One file.")
    .end(),
);
state("Tool agent: in the background", (talk) =>
  talk
    .said("Survey.")
    .call("one", "Agent", TOOLS.agent?.input)
    .result("one", "Started.")
    .text("It runs.")
    .end()
    .tell({
      background_tasks: [
        {
          task_id: "ag-1",
          tool_use_id: "one",
          kind: "agent",
          description: "survey the docs",
          status: "running",
        },
      ],
    }),
);
state("Tool question: answered", (talk) =>
  talk
    .said("Ask.")
    .question([
      { id: "q", question: "Which bird?", header: "Bird", options: [{ label: "gull" }, { label: "tern" }] },
    ])
    .resolved({ answer: { q: "gull" }, delivered_as: "tool_result" })
    .text("A gull.")
    .end(),
);
state("Tool command: denied", (talk) =>
  talk
    .said("Clean.")
    .permission("Bash", { command: "rm -rf build" })
    .resolved({ decision: "deny", reason: "Not now." })
    .text("I leave it.")
    .end(),
);

// Permissions
const RULE = {
  type: "addRules",
  rules: [{ toolName: "Bash", ruleContent: "rm -rf build" }],
  behavior: "allow",
  destination: "session",
};
state("Permission: command", (talk) =>
  talk
    .said("Clean.")
    .permission("Bash", { command: "rm -rf build", description: "Clean" }, { suggestions: [RULE] }),
);
state("Permission: change", (talk) =>
  talk.said("Change it.").permission("Edit", TOOLS.change?.input, { title: "Change birds.py" }),
);
state("Permission: long change", (talk) =>
  talk.said("Count each row once more.").permission("Edit", {
    file_path: "src/harbour/birds.py",
    old_string: LINES.join(""),
    new_string: LINES.map((line, at) => (at === 6 ? line.replace("row=6", "row=6, twice=True") : line)).join(
      "",
    ),
  }),
);
state("Permission: MCP tool", (talk) =>
  talk.said("Count.").permission("mcp__birds__count", { where: "harbour", deep: { levels: [1, 2, 3] } }),
);
state("Permission: several rules", (talk) =>
  talk.said("Clean.").permission(
    "Bash",
    { command: "git push" },
    {
      decision_only: true,
      suggestions: [RULE, { ...RULE, rules: [{ toolName: "Bash", ruleContent: "git push:*" }] }],
    },
  ),
);
state("Permission: blocked path", (talk) =>
  talk
    .said("Read.")
    .permission("Read", { file_path: "/etc/hosts" }, { blocked_path: "/etc/hosts", reason: "Outside." }),
);
state("Permission: invisible characters", (talk) =>
  talk.said("Run.").permission("Bash", { command: "echo \u202egpj.exe\u200b" }),
);
state("Permission: long command", (talk) =>
  talk.said("Run.").permission("Bash", { command: `echo ${LONG}\n`.repeat(12) }),
);
state("Permission: of a sub-agent, and another", (talk) =>
  talk
    .said("Run.")
    .permission("Bash", { command: "make" }, { agent_id: "ag-1" })
    .permission("Bash", { command: "make install" }),
);

state("Permission: several at once", (talk) =>
  talk
    .said("Check everything.")
    .permission("Bash", { command: "make check" })
    .permission("Bash", { command: "make test" })
    .permission("Edit", TOOLS.change?.input, { title: "Change birds.py" }),
);

// Questions
const COLOURS = [
  { label: "Blue", description: "as the logo" },
  { label: "Grey", description: "as the menu" },
];
state("Question: one of several", (talk) =>
  talk.said("Ask.").question([{ id: "a", question: "Which colour?", header: "Colour", options: COLOURS }]),
);
state("Question: several of several", (talk) =>
  talk.said("Ask.").question([{ id: "a", question: "Which colours?", options: COLOURS, multi: true }]),
);
state("Question: own words", (talk) =>
  talk.said("Ask.").question([{ id: "a", question: "What is its name?" }]),
);
state("Question: a form that can be skipped", (talk) =>
  talk.said("Ask.").question(
    [
      { id: "a", question: "Which colour?", header: "Colour", options: COLOURS },
      { id: "b", question: "How large?", header: "Size", options: [{ label: "Small" }, { label: "Large" }] },
      { id: "c", question: "Anything else?" },
    ],
    { required: false },
  ),
);

// The dock
const item = (number: number, more = {}) => ({
  queue_id: `q-${number}`,
  content: [{ type: "text", text: `Then do number ${number}.` }],
  by: "ann",
  created_at: "2026-03-02T10:00:00.000Z",
  ...more,
});
state("Queue: three messages", (talk) =>
  talk
    .said("Begin.")
    .text("I begin.")
    .tell({ queue: [1, 2, 3].map((n) => item(n)) }),
);
state("Queue: held", (talk) =>
  talk
    .said("Begin.")
    .text("I begin.")
    .end({ interrupted: true })
    .tell({ queue: [item(1)], queue_held: true }),
);
state("Plan: running", (talk) =>
  talk
    .said("Begin.")
    .call("one", "TodoWrite", TOOLS.list?.input)
    .result("one", "Noted.")
    .growing("assistant.chunk", "I"),
);
state("Settings: mode and model", (talk) =>
  talk
    .said("Plan.")
    .text("A plan.")
    .end()
    .tell({ permission_mode: "plan", budget: { spent: 0.4, limit: 1 } }),
);

for (const tokens of [48_200, 148_000, 187_500])
  state(
    `Context: ${Math.round(tokens / 2_000)}% full`,
    (talk) => talk.said("Read on.").text("I have read it.").end(),
    {
      context: tokens,
    },
  );

// Empty states, errors, ends
state("Empty: no message yet", (talk) => talk);
state("Error: turn failed", (talk) =>
  talk
    .said("Begin.")
    .text("I begin.")
    .end({
      is_error: true,
      stop_reason: undefined,
      error: { code: "api_error", message: "The API is overloaded." },
    }),
);
state("Error: agent crashed", (talk) =>
  talk.said("Begin.").end({
    is_error: true,
    stop_reason: undefined,
    error: { code: "agent_lost", message: "The agent has ended." },
  }),
);
state("Event: files restored", (talk) =>
  talk
    .said("Begin.")
    .text("Done.")
    .end()
    .event("rewind", { message_sequence: 1, files: ["a.txt"], failed: ["b.txt"] }),
);
state("Event: unknown", (talk) =>
  talk.said("Begin.").event("weather", { wind: "north" }, "The wind has changed.").end(),
);
state("Connection: lost", (talk) => talk.said("Begin.").text("I begin.").end(), { ending: "lost" });
state("Loading: messages", (talk) => talk, { ending: "silent" });
state("Archived", (talk) => talk.said("Begin.").text("It was good.").end(), {
  ending: "closed",
  archived: true,
});
state("List: pinned, with labels", (talk) => talk.said("Begin.").text("Here.").end(), {
  labels: ["harbour", "birds"],
  pinned: true,
});

state("List: unread", (talk) => talk.said("Begin.").text("Here.").end(), {
  isUnread: true,
  pinned: true,
});
state("List: unread, with labels and a long name", (talk) => talk.said("Begin.").text("Here.").end(), {
  isUnread: true,
  pinned: true,
  labels: ["harbour"],
});

export const STATES: readonly State[] = states;

/** Other pages of the gallery, by their addresses. */
export const PAGES: Readonly<Record<string, string>> = {
  "/": "Start page",
  "/inbox": "Inbox",
  "/search?q=gull": "Search",
  "/settings": "Settings",
  "/c/deleted": "Closed: deleted",
  "/inbox?gallery=empty": "Inbox: empty",
  "/search?q=nothing": "Search: nothing found",
  "/?gallery=guest": "Not signed in",
  "/inbox?gallery=slow": "Loading: list and inbox",
  "/?gallery=slow": "Loading: agents",
  "/?gallery=down": "Server lost: start page",
  "/inbox?gallery=down": "Server lost: inbox",
  "/shared#whole": "Shared conversation",
  "/shared#ended": "Shared link that has ended",
  "/offline.html": "Offline",
};
