import { lookUp } from "../app/lookup";
import { kindOf, mcpOf, toolTitle } from "../tools/toolKinds";
import type { Words } from "../words/en";

/** The tools that change one file each. Others may change several. */
const ONE_FILE = new Set(["edit", "multiedit", "write", "notebookedit"]);

/** Returns a one-line title of a permission. An agent's title for an MCP tool lacks the server. */
export function permissionTitle(
  request: { tool_name: string; title?: string | undefined },
  words: Words,
): string {
  const { title, tool_name } = request;
  const hasOwn = title && title !== tool_name && !mcpOf(tool_name);
  if (hasOwn) return title;
  const kind = kindOf(tool_name);
  if (kind === "command" || kind === "read") return words.mayDo[kind];
  if (kind === "change")
    return ONE_FILE.has(tool_name.toLowerCase()) ? words.mayDo.change : words.mayDo.changes;
  const name = toolTitle(tool_name, words);
  return lookUp(words.mayDo.web, tool_name.toLowerCase()) ?? words.mayRun(name);
}
