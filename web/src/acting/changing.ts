// How what the agent wants to run is written down, so that a person can change it.
import { escapedUnseen, hasUnseen } from "../markdown/Unseen";
import { isObject, textIn } from "../tools/reading";

export interface Written {
  text: string;
  /** Else it is JSON. */
  isCommand: boolean;
}

/** A command as a command; anything else as JSON, in which all that cannot be seen has its number. */
export function written(input: unknown): Written {
  const command = textIn(input, "command");
  if (command !== undefined && !hasUnseen(command)) return { text: command, isCommand: true };
  return { text: escapedUnseen(JSON.stringify(input, null, 2) ?? ""), isCommand: false };
}

/** What it means by now. Throws if it is no JSON, and should be. */
export function meant({ text, isCommand }: Written, input: unknown): unknown {
  return isCommand ? { ...(input as object), command: text } : JSON.parse(text);
}

/** Whether it has a command, in which there is nothing to run. */
export function isCommandless(input: unknown): boolean {
  return isObject(input) && typeof input.command === "string" && !input.command.trim();
}
