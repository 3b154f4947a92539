// The agent's slash commands, offered while a message starts with a slash.
import type { Capabilities, Commands, Conversation, SlashCommand } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { type KeyboardEvent, useEffect, useMemo, useState } from "react";
import { sendControl } from "../agent/controls";
import { useConversations } from "../conversations/conversationList";
import { supportsControl } from "../talk/capabilities";
import type { Choice } from "./CommandList";
import { matchingCommands, mayBeCommand } from "./commandMatches";

/** Loads the commands. Undefined if the agent cannot list them. */
type Load = (() => Promise<readonly SlashCommand[]>) | undefined;

/** One request for each connection: each connection has its own capabilities object. */
const asked = new WeakMap<Capabilities, Promise<readonly SlashCommand[]>>();

/** The commands of the agent of a conversation. */
export function useCommandsOf(conversation: Conversation, capabilities: Capabilities | undefined): Load {
  const offered = supportsControl(capabilities, "commands") ? capabilities : undefined;
  return useMemo(() => {
    if (offered === undefined) return;
    return () => {
      let all = asked.get(offered);
      if (all === undefined) {
        all = sendControl(conversation, "commands").then(({ commands }) => commands);
        all.catch(() => asked.delete(offered)); // the next slash tries again
        asked.set(offered, all);
      }
      return all;
    };
  }, [conversation, offered]);
}

/**
 * The commands of an agent before there is a conversation, as the newest one with this agent and
 * directory has them. An agent lists them only while it runs, and it runs only for a conversation.
 */
export function useCommandsBefore(agent: StartingAgent | undefined, cwd: string): Load {
  const client = useTurnwire();
  const { all } = useConversations();
  const lists = agent !== undefined && supportsControl(agent.capabilities, "commands");
  const found = all.filter((each) => each.agent === agent?.name);
  const id = lists ? (found.find((each) => (each.cwd ?? "") === cwd) ?? found[0])?.id : undefined;
  return useMemo(() => {
    if (id === undefined) return;
    const path = `/api/conversations/${encodeURIComponent(id)}/commands`;
    return () => client.request<Commands>("GET", path).then(({ commands }) => commands);
  }, [client, id]);
}

interface StartingAgent {
  name: string;
  capabilities: Capabilities;
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
export function useCommands(load: Load, complete: (text: string) => void): CommandChoice {
  const [written, setWritten] = useState<string>();
  const [all, setAll] = useState<readonly SlashCommand[]>();
  const [isLoading, setLoading] = useState(false);
  const [at, setAt] = useState(0);
  const isSearchHit = written !== undefined;
  useEffect(() => {
    if (!isSearchHit || load === undefined) return;
    let isGone = false;
    setLoading(true);
    const over = (told: readonly SlashCommand[] | undefined) => {
      if (isGone) return;
      setAll(told);
      setLoading(false);
    };
    load().then(over, () => over(undefined));
    return () => {
      isGone = true;
    };
  }, [isSearchHit, load]);
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
  return { isPossible: load !== undefined, isOpen, isLoading, found, at, typed, pressed, choose, close };
}
