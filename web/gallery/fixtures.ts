// What the server of the gallery knows besides conversations: agents, rules, links, the agent's own state.
import { at, CAPABILITIES, type Script } from "./script";

export const AGENTS = [
  {
    name: "claude",
    description: "Claude Code, with its tools.",
    version: "2.1",
    abilities: [{ name: "forks", text: "forks with its own memory" }],
    ready: true,
    unavailable: null,
    default: true,
    capabilities: CAPABILITIES,
  },
  {
    name: "codex",
    description: "Codex, through its app-server.",
    version: null,
    abilities: [],
    ready: false,
    unavailable: "Codex is not installed. Install it: pip install turnwire[codex]",
    default: false,
    capabilities: { ...CAPABILITIES, agent: "codex" },
  },
];

const rule = (number: number, toolName: string, ruleContent: string) => ({
  conversation_id: "message-whole-answer",
  rule_id: `rule-${number}`,
  agent: "claude",
  rule: {
    type: "addRules",
    behavior: "allow",
    destination: "session",
    rules: [{ toolName, ruleContent }],
  },
  given_at: at(number * 60),
  kept_by: "turnwire",
  same_input: number === 2,
  by: "ann",
  title: "Message: whole answer",
});

export const RULES = [
  rule(1, "Bash", "make test"),
  rule(2, "Bash", "git push origin main --force-with-lease --tags"),
];

export const SHARES = [
  { share_id: "s-1", created_at: at(0), expires_at: at(30 * 86_400) },
  { share_id: "s-2", created_at: at(3600), expires_at: at(7 * 86_400) },
];

export const DIRECTORIES = {
  path: "/home/ann",
  parent: "/home",
  directories: ["/home/ann/birds", "/home/ann/harbour", "/home/ann/notes-of-all-the-years-before"],
  has_more: true,
};

/** The results of commands and controls, by their names. */
export const RESULTS: Readonly<Record<string, Record<string, unknown>>> = {
  "user.rewind": { files: ["src/birds.py", "docs/harbour.md"], failed: [] },
  context_usage: {
    result: {
      control: "context_usage",
      total_tokens: 48_200,
      max_tokens: 200_000,
      percentage: 24.1,
      model: "model-large",
      parts: [
        { name: "Messages", tokens: 31_400, kind: "used" },
        { name: "System tools", tokens: 12_600, kind: "used" },
        { name: "Memory files", tokens: 4_200, kind: "used" },
        { name: "Free space", tokens: 151_800, kind: "free" },
      ],
    },
  },
  mcp_status: {
    result: {
      control: "mcp_status",
      servers: [
        { name: "birds", status: "connected", transport: "stdio", tools: ["count", "find", "ring"] },
        { name: "harbour", status: "failed", transport: "http", error: "The server answered 502." },
        { name: "calendar", status: "needs-auth", transport: "http" },
        { name: "weather", status: "disabled", transport: "stdio" },
      ],
    },
  },
};

/** Returns an entry in its layers, as the inspector asks for them. */
export function layersOf(script: Script, number: number) {
  const frame = script.entry(number);
  return {
    raw: { type: "assistant", message: { content: [{ type: "text", ...frame?.payload }] } },
    events: [{ kind: frame?.type, ...frame?.payload }],
    entry: { sequence: number, frame },
    frame,
  };
}

/** Returns where the texts of the waiting changes are in their files. */
export function placesOf(script: Script): { path: string; text: string; line: number }[] {
  const requests = script.status.requests as { input?: { file_path?: string; old_string?: string } }[];
  return requests.flatMap(({ input }) =>
    input?.file_path !== undefined && input.old_string !== undefined
      ? [{ path: input.file_path, text: input.old_string, line: 41 }]
      : [],
  );
}
