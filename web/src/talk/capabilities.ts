// The features of this connection: the page offers no others.
import type { Capabilities, Status } from "@turnwire/client";

export function supportsCommand(capabilities: Capabilities | undefined, command: string): boolean {
  return capabilities?.commands.includes(command) === true;
}

/** Whether the agent supports this control. */
export function supportsControl(capabilities: Capabilities | undefined, control: string): boolean {
  return (
    supportsCommand(capabilities, "session.control") && capabilities?.controls?.includes(control) === true
  );
}

/** Whether the panel of the agent has any content. */
export function hasPanel(capabilities: Capabilities | undefined, status: Status | undefined): boolean {
  return (
    supportsControl(capabilities, "mcp_status") ||
    supportsControl(capabilities, "context_usage") ||
    supportsCommand(capabilities, "session.set_max_thinking_tokens") ||
    status?.budget !== undefined
  );
}
