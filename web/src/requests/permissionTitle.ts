import { isUnified, kindOf, mcpOf, toolTitle } from "../tools/toolKinds";
import type { Words } from "../words/en";

/** Returns a one-line title of a permission. An agent's title for an MCP tool lacks the server. */
export function permissionTitle(
  request: { tool_name: string; title?: string | undefined },
  words: Words,
): string {
  const { title, tool_name } = request;
  const hasOwn = title && title !== tool_name && !mcpOf(tool_name);
  if (hasOwn) return title;
  const kind = kindOf(tool_name);
  if (kind === "command") return words.mayDo.command;
  if (isUnified(tool_name)) return words.mayDo.change; // it may change several files
  return words.mayRun(toolTitle(tool_name, words));
}
