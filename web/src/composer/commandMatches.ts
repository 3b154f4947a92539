// Which slash commands match what a person has written so far.
import type { SlashCommand } from "@turnwire/client";

/**
 * Returns the commands that match, those with this prefix first. Empty if the text is no command.
 */
export function matchingCommands(all: readonly SlashCommand[], written: string): SlashCommand[] {
  if (!mayBeCommand(written)) return [];
  const sought = written.slice(1).toLowerCase();
  const places = all.map((command) => ({ command, at: command.name.toLowerCase().indexOf(sought) }));
  const those = (is: (at: number) => boolean) =>
    places.filter(({ at }) => is(at)).map(({ command }) => command);
  return [...those((at) => at === 0), ...those((at) => at > 0)];
}

/** Whether the text may be the beginning of a command. */
export function mayBeCommand(written: string): boolean {
  return /^\/\S*$/.test(written);
}
