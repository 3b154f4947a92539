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
  if (isUnified(tool_name)) return words.mayDo[kindOf(tool_name) === "change" ? "change" : "command"];
  return words.mayRun(toolTitle(tool_name, words));
}
