// Splits the input of a permission request: what a special view shows, and the rest.
import { type Change, changesIn, hasTexts } from "../tools/fileChanges";
import { kindOf } from "../tools/toolKinds";
import { fieldOf, isObject, listIn, textIn, without } from "../tools/toolValues";

export interface RequestParts {
  command?: string | undefined;
  changes: Change[];
  /** The arguments that neither shows, unchanged; undefined if there are none. */
  rest: unknown;
}

/** A request in which each part is shown once, even if the agent repeats it. */
export interface DeduplicatedParts extends RequestParts {
  description?: string | undefined;
  blockedPath?: string | undefined;
}

interface Asked {
  tool_name: string;
  input?: unknown;
  description?: string | undefined;
  blocked_path?: string | undefined;
}

/** Leaves out what the title, the command, the changes or the other arguments already show. */
export function deduplicatedPartsOf(request: Asked, title: string): DeduplicatedParts {
  const wanted = partsOf(request.tool_name, request.input);
  const words = textIn(wanted.rest, "description");
  // A text is easier to read as a sentence than as an argument. That of a command says what it does.
  const own = request.description ?? (wanted.command === undefined ? undefined : words);
  const isSaid = words !== undefined && [own, title].includes(words);
  const left = isSaid && isObject(wanted.rest) ? without(wanted.rest, "description") : wanted.rest;
  const rest = isObject(left) && !Object.keys(left).length ? undefined : left;
  const shown = new Set<unknown>([title, wanted.command, ...wanted.changes.map(({ path }) => path)]);
  if (isObject(rest)) for (const value of Object.values(rest)) shown.add(value);
  const unlessShown = (text: string | undefined) => (shown.has(text) ? undefined : text);
  return {
    ...wanted,
    rest,
    description: unlessShown(own),
    blockedPath: unlessShown(request.blocked_path),
  };
}

export function partsOf(toolName: string, input: unknown): RequestParts {
  if (!isObject(input)) return { changes: [], rest: input };
  const command = fieldOf(input, "command", "cmd");
  if (command?.text) return { command: command.text, changes: [], rest: without(input, command.name) };
  const changed = changesIn(input);
  // A name of an unknown tool does not say that it changes files; the form of its input does.
  const isChange = kindOf(toolName) === "change" || listIn(input, "changes").length > 0 || hasTexts(input);
  if (isChange) return changed;
  return { changes: [], rest: input };
}
