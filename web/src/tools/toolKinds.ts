// The kind of a tool, which determines its card.

import type { IconName } from "../app/Icon";
import { lookUp } from "../app/lookup";
import type { Words } from "../words/en";

export type Kind =
  | "command"
  | "change"
  | "read"
  | "search"
  | "mcp"
  | "web"
  | "todo"
  | "agent"
  | "question"
  | "raw";

const BY_NAME: Record<string, Kind> = {
  bash: "command",
  shell: "command",
  command_execution: "command",
  bashoutput: "command",
  local_shell: "command",
  edit: "change",
  multiedit: "change",
  write: "change",
  notebookedit: "change",
  file_change: "change",
  apply_patch: "change",
  read: "read",
  notebookread: "read",
  read_file: "read",
  grep: "search",
  glob: "search",
  ls: "search",
  toolsearch: "search",
  websearch: "web",
  webfetch: "web",
  web_search: "web",
  todowrite: "todo",
  todo_list: "todo",
  taskcreate: "todo",
  taskupdate: "todo",
  tasklist: "todo",
  update_plan: "todo",
  agent: "agent",
  task: "agent",
  request_input: "question",
  askuserquestion: "question",
};

/** Kinds by the type of the tool, for names that say little. */
const BY_TYPE: Record<string, Kind> = {
  COMMAND_EXECUTION: "command",
  FILE_CHANGE: "change",
  ACP_EXECUTE: "command",
  ACP_EDIT: "change",
  ACP_READ: "read",
  ACP_SEARCH: "search",
  ACP_FETCH: "web",
};

export function kindOf(toolName: string, toolType?: string): Kind {
  const name = toolName.toLowerCase();
  if (name.endsWith("__request_input") || toolType === "QUESTION") return "question";
  if (name.startsWith("mcp__") || toolType === "MCP") return "mcp";
  return lookUp(BY_NAME, name) ?? lookUp(BY_TYPE, toolType) ?? "raw";
}

/** Returns the server and the tool from the name of an MCP tool. */
export function mcpOf(toolName: string): { server: string; tool: string } | undefined {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(toolName) ?? [];
  return server && tool ? { server, tool } : undefined;
}

/**
 * Returns the name of a tool, the same on its card, in a permission and in a rule: "server: tool" for
 * an MCP tool, a plain word for a known one, and otherwise the agent's own name.
 */
export function toolTitle(toolName: string, words: Words, toolType?: string): string {
  const mcp = mcpOf(toolName);
  const kind = kindOf(toolName, toolType);
  if (kind === "question") return words.tool.question;
  if (mcp) return `${mcp.server}: ${mcp.tool}`;
  return kind === "raw" || kind === "mcp"
    ? toolName
    : (lookUp(words.toolNames, toolName.toLowerCase()) ?? words.tool[kind]);
}

export const ICONS: Record<Kind, IconName> = {
  command: "terminal",
  change: "pencil",
  read: "file",
  search: "search",
  mcp: "plug",
  web: "globe",
  todo: "list",
  agent: "agent",
  question: "question",
  raw: "spark",
};
