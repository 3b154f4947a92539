// The features of this connection: the page offers no others.
import type { Capabilities } from "@turnwire/client";

export function supportsCommand(capabilities: Capabilities | undefined, command: string): boolean {
  return capabilities?.commands.includes(command) === true;
}

/** Whether the agent supports this control. */
export function supportsControl(capabilities: Capabilities | undefined, control: string): boolean {
  return (
    supportsCommand(capabilities, "session.control") && capabilities?.controls?.includes(control) === true
  );
}
