// The state of a tool call, as a person understands it.
import type { ToolView } from "@turnwire/client";

/**
 * `waiting`: for a person. `denied`, `cancelled`, `expired`: it did not get its permission.
 * `interrupted`: its turn was stopped while its input was still growing.
 */
export type ToolState =
  | "running"
  | "background"
  | "waiting"
  | "done"
  | "failed"
  | "denied"
  | "cancelled"
  | "expired"
  | "interrupted";

/** `isInBackground`: whether a task of this call goes on after its turn. */
export function toolStateOf(tool: ToolView, isInBackground = false): ToolState {
  const { request, result, status } = tool;
  if (isInBackground) return "background";
  const refusal = refusalOf(tool);
  if (refusal) return refusal;
  if (result) return result.is_error || isErrorMarkup(result.content) ? "failed" : "done";
  if (request && !request.outcome) return "waiting";
  return status === "aborted" ? "interrupted" : "running";
}

const ERROR = /^\s*<tool_use_error>[\s\S]*<\/tool_use_error>\s*$/;

/** Whether a result consists of the markup of an error, which some agents return without their flag. */
function isErrorMarkup(content: unknown): boolean {
  const text = Array.isArray(content) && content.length === 1 ? content[0]?.text : content;
  return typeof text === "string" && ERROR.test(text);
}

/** Returns how the call was refused its permission. A call that did not run is no failure. */
function refusalOf({ request, result }: ToolView): "denied" | "cancelled" | "expired" | undefined {
  if (request?.kind !== "permission") return undefined;
  const { decision, outcome, by } = request;
  if (decision === "deny") return "denied";
  // An agent that continues without the permission may have run the call.
  if (by === "agent" || (result && !result.is_error)) return undefined;
  if (outcome === "cancelled") return "cancelled";
  return outcome === "expired" ? "expired" : undefined;
}
