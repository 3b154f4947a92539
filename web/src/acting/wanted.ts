// What a permission is asked for: what a special view shows of it, and all the rest.
import { type Change, changesIn } from "../tools/fileChanges";
import { kindOf } from "../tools/kinds";
import { fieldOf, isObject, without } from "../tools/reading";

export interface Wanted {
  command?: string | undefined;
  changes: Change[];
  /** Every argument that neither shows, as it came; undefined: there is none. */
  rest: unknown;
}

export function wantedOf(toolName: string, input: unknown): Wanted {
  if (!isObject(input)) return { changes: [], rest: input };
  const command = fieldOf(input, "command", "cmd");
  if (command?.text) return { command: command.text, changes: [], rest: without(input, command.name) };
  if (kindOf(toolName) === "change") return changesIn(input);
  return { changes: [], rest: input };
}
