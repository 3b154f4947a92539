// The agent's slash commands, offered while a message starts with a slash.
import type { Capabilities, Conversation, SlashCommand } from "@turnwire/client";
import { type KeyboardEvent, useEffect, useState } from "react";
import { sendControl } from "../agent/controls";
import { supportsControl } from "../talk/capabilities";
import type { Choice } from "./CommandList";

/** One request for each connection: each connection has its own capabilities object. */
const asked = new WeakMap<Capabilities, Promise<readonly SlashCommand[]>>();

function commandsOf(
  conversation: Conversation,
  capabilities: Capabilities,
): Promise<readonly SlashCommand[]> {
  let all = asked.get(capabilities);
  if (all === undefined) {
    all = sendControl(conversation, "commands").then(({ commands }) => commands);
    all.catch(() => asked.delete(capabilities)); // the next slash tries again
    asked.set(capabilities, all);
  }
  return all;
}

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

function mayBeCommand(written: string): boolean {
  return /^\/\S*$/.test(written);
}

export interface CommandChoice extends Choice {
  /** Whether the agent can list its commands. */
  isPossible: boolean;
  found: readonly SlashCommand[];
  /** Called with the whole text after each change. */
  typed: (written: string) => void;
  choose(command: SlashCommand): void;
}

/**
 * The list of commands after a slash; `complete` writes the chosen one. Without the list, typing
 * still works.
 */
export function useCommands(
  conversation: Conversation,
  capabilities: Capabilities | undefined,
  complete: (text: string) => void,
): CommandChoice {
  const [written, setWritten] = useState<string>();
  const [all, setAll] = useState<readonly SlashCommand[]>();
  const [isLoading, setLoading] = useState(false);
  const [at, setAt] = useState(0);
  const isSearchHit = written !== undefined;
  const offered = supportsControl(capabilities, "commands") ? capabilities : undefined;
  useEffect(() => {
    if (!isSearchHit || offered === undefined) return;
    let isGone = false;
    setLoading(true);
    const over = (told: readonly SlashCommand[] | undefined) => {
      if (isGone) return;
      setAll(told);
      setLoading(false);
    };
    commandsOf(conversation, offered).then(over, () => over(undefined));
    return () => {
      isGone = true;
    };
  }, [isSearchHit, conversation, offered]);
  const found = isSearchHit && all ? matchingCommands(all, written) : [];
  const isOpen = isSearchHit && (found.length > 0 || (isLoading && !all));

  const close = () => setWritten(undefined);
  const choose = (command: SlashCommand) => {
    close();
    complete(`/${command.name} `);
  };
  const typed = (to: string) => {
    setAt(0);
    setWritten(mayBeCommand(to) ? to : undefined); // the capabilities may arrive a moment later
  };
  const pressed = (event: KeyboardEvent): boolean => {
    if (!isOpen || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return false;
    const chosen = found[at];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (chosen === undefined) return false;
    else if (step) setAt((at + step + found.length) % found.length);
    // A complete command is sent, not completed.
    else if (event.key === "Tab" || (event.key === "Enter" && written !== `/${chosen.name}`)) choose(chosen);
    else return false;
    event.preventDefault();
    return true;
  };
  return { isPossible: offered !== undefined, isOpen, isLoading, found, at, typed, pressed, choose, close };
}
