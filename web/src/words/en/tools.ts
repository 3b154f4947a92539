// The cards of tool calls.
export const tools = {
  done: "done",
  failed: "failed",
  denied: "denied",
  inBackground: "in the background",
  options: "Options",
  chosen: "chosen",
  runs: "running",
  input: "Input",
  result: "Result",
  answeredBy: (by: string) => `Answered by ${by}`,
  exitCode: (n: number) => `exit ${n}`,
  ranInstead: "What actually ran",
  decided: (decision: string, by: string | undefined) =>
    `${decision === "allow" ? "Allowed" : decision === "deny" ? "Denied" : decision}${by ? ` by ${by}` : ""}`,
  withdrawnByAgent: "Withdrawn by the agent",
  outcome: { answered: "Answered", expired: "Not answered in time", cancelled: "Withdrawn" } as Record<
    string,
    string
  >,
  tool: {
    command: "Command",
    change: "Change",
    read: "Read",
    search: "Search",
    mcp: "MCP",
    web: "Web",
    todo: "Plan",
    agent: "Sub-agent",
    question: "Question",
    raw: "Block",
  },
  /** Names of tools where the word for the kind says too little. */
  toolNames: {
    edit: "Edit",
    multiedit: "Edit",
    notebookedit: "Edit notebook",
    write: "Write",
    notebookread: "Read notebook",
    glob: "Find files",
    ls: "List files",
    toolsearch: "Find tools",
    websearch: "Web search",
    web_search: "Web search",
    webfetch: "Web page",
  } as Record<string, string>,
  todo: { pending: "to do", in_progress: "in progress", completed: "done" } as Record<string, string>,
  task: {
    begun: (about: string | undefined) => `Sub-agent started${about ? `: ${about}` : ""}`,
    behind: (about: string | undefined) => `Continues in the background${about ? `: ${about}` : ""}`,
    over: (status: string, about: string | undefined) => {
      const said = { completed: "Done", failed: "Failed", stopped: "Stopped" }[status] ?? status;
      return `${said}${about ? `: ${about}` : ""}`;
    },
    ended: { failed: "failed", stopped: "stopped" } as Record<string, string>,
  },
  earlierPlans: (n: number) => (n === 1 ? "1 earlier version" : `${n} earlier versions`),
  planDone: (done: number, all: number) => `${done} of ${all} done`,
};
