import { mcpOf, toolTitle } from "../tools/kinds";
import type { Words } from "../words/en";

/** What a permission is about, in a line. An agent's title for a tool of an MCP server lacks the server. */
export function permissionTitle(
  request: { tool_name: string; title?: string | undefined },
  words: Words,
): string {
  const { title, tool_name } = request;
  const hasOwn = title && title !== tool_name && !mcpOf(tool_name);
  return hasOwn ? title : words.mayRun(toolTitle(tool_name));
}
