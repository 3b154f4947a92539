// Converts the input of a tool call into text that a person can edit, and back.
import { escapedUnseen, hasUnseen } from "../markdown/Unseen";
import { isObject, textIn } from "../tools/reading";

export interface Written {
  text: string;
  /** Otherwise it is JSON. */
  isCommand: boolean;
}

/** Returns a command as plain text; anything else as JSON with escaped invisible characters. */
export function written(input: unknown): Written {
  const command = textIn(input, "command");
  if (command !== undefined && !hasUnseen(command)) return { text: command, isCommand: true };
  return { text: escapedUnseen(JSON.stringify(input, null, 2) ?? ""), isCommand: false };
}

/** Returns the input for the edited text. Throws if the text should be JSON and is not. */
export function meant({ text, isCommand }: Written, input: unknown): unknown {
  return isCommand ? { ...(input as object), command: text } : JSON.parse(text);
}

/** Whether the input has a command, and the command is empty. */
export function isCommandless(input: unknown): boolean {
  return isObject(input) && typeof input.command === "string" && !input.command.trim();
}
