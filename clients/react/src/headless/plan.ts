// The agent's plan: a list of steps, each with its state.
import { textIn } from "./json.js";

export interface PlanItem {
  content: string;
  /** `pending`, `in_progress`, `completed`, or the agent's own word. */
  status: string;
}

/** Reads the items of a plan. Ignores items without a text. */
export function planItems(items: readonly unknown[]): PlanItem[] {
  return items.flatMap((each) => {
    const content = textIn(each, "content", "subject", "title");
    return content ? [{ content, status: textIn(each, "status") ?? "pending" }] : [];
  });
}
