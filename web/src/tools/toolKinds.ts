// The kind of a tool, which determines its card.

import type { IconName } from "../app/Icon";
import { lookUp } from "../app/lookup";

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

export function kindOf(toolName: string, toolType?: string): Kind {
  const name = toolName.toLowerCase();
  if (name.endsWith("__request_input") || toolType === "QUESTION") return "question";
  if (name.startsWith("mcp__") || toolType === "MCP") return "mcp";
  return lookUp(BY_NAME, name) ?? "raw";
}

/** Returns the server and the tool from the name of an MCP tool. */
export function mcpOf(toolName: string): { server: string; tool: string } | undefined {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(toolName) ?? [];
  return server && tool ? { server, tool } : undefined;
}

/** Returns a readable name of a tool: "server: tool" for an MCP tool. */
export function toolTitle(toolName: string): string {
  const mcp = mcpOf(toolName);
  return mcp ? `${mcp.server}: ${mcp.tool}` : toolName;
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
