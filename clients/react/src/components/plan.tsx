// The agent's current plan.
import type { ReactNode } from "react";
import { planItems } from "../headless/plan.js";
import { VisibleText } from "./visible_text.js";
import { useWords } from "./words.js";

export interface PlanProps {
  /** `view.plan` of a conversation. */
  items: readonly unknown[] | undefined;
  className?: string;
}

/** Shows the steps of a plan, each with its state; nothing, if there are none or all are done. */
export function Plan({ items = [], className }: PlanProps): ReactNode {
  const words = useWords();
  const steps = planItems(items);
  const done = steps.filter(({ status }) => status === "completed").length;
  if (done === steps.length) return null;
  return (
    <details open className={className} data-turnwire="plan">
      <summary>
        {words.plan} {done}/{steps.length}
      </summary>
      <ol>
        {steps.map(({ content, status }, at) => (
          <li key={at} data-status={status} aria-current={status === "in_progress" ? "step" : undefined}>
            <VisibleText text={content} /> <small>{words.planStatus(status)}</small>
          </li>
        ))}
      </ol>
    </details>
  );
}
