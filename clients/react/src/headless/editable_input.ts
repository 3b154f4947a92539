// Converts the input of a tool call into text that a person can edit, and back.
import { escapeInvisible, hasInvisible } from "./invisible.js";
import { isObject, textIn } from "./json.js";

export interface EditableInput {
  text: string;
  /** Otherwise it is JSON. */
  isCommand: boolean;
}

/** Returns a command as plain text; anything else as JSON with escaped invisible characters. */
export function toEditable(input: unknown): EditableInput {
  const command = textIn(input, "command");
  if (command !== undefined && !hasInvisible(command)) return { text: command, isCommand: true };
  return { text: escapeInvisible(JSON.stringify(input, null, 2) ?? ""), isCommand: false };
}

/** Returns the input for the edited text. Throws if the text should be JSON and is not. */
export function fromEditable({ text, isCommand }: EditableInput, input: unknown): unknown {
  return isCommand ? { ...(input as object), command: text } : JSON.parse(text);
}

/** Whether the input has a command, and the command is empty. */
export function hasEmptyCommand(input: unknown): boolean {
  return isObject(input) && typeof input.command === "string" && !input.command.trim();
}
