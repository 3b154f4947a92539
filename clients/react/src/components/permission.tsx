// A permission request, with the controls to decide it.
import type { OpenRequest } from "@turnwire/client";
import { type ReactElement, useId } from "react";
import { isObject, shown, textIn } from "../headless/json.js";
import { type Decide, usePermission } from "../headless/permission.js";
import {
  PermissionAllow,
  PermissionAlways,
  PermissionBack,
  PermissionDeny,
  PermissionDenyWithReason,
  PermissionEdit,
  PermissionField,
  PermissionForm,
  PermissionProblem,
  PermissionRoot,
  PermissionSubmit,
} from "./permission_parts.js";
import { Input } from "./values.js";
import { VisibleText } from "./visible_text.js";
import { useWords } from "./words.js";

export interface PermissionProps {
  request: OpenRequest;
  decide: Decide;
  /** The position among the shown requests. */
  place?: number;
  className?: string;
}

/** Shows a tool call that waits for a permission, with the buttons to allow and to deny it. */
export function Permission({ request, decide, place, className }: PermissionProps): ReactElement {
  const words = useWords();
  const permission = usePermission(request, decide, { place });
  const { rules, refusal, form } = permission;
  const title = useId();
  return (
    <PermissionRoot className={className} permission={permission} aria-labelledby={title}>
      <p id={title} data-turnwire="title">
        <VisibleText text={request.title ?? words.mayRun(request.tool_name)} />
      </p>
      {request.description && (
        <p>
          <VisibleText text={request.description} />
        </p>
      )}
      <Input input={request.input} />
      {form === "plain" && (
        <div data-turnwire="choices">
          <PermissionAllow />
          <PermissionDeny />
          {rules.map((meant, at) => (
            <PermissionAlways key={at} rules={meant} title={meant.map(nameOf).join(", ")}>
              <VisibleText text={words.alwaysAllow(rules.length > 1 ? nameOf(meant[0]) : undefined)} />
            </PermissionAlways>
          ))}
          <PermissionDenyWithReason />
          <PermissionEdit />
        </div>
      )}
      <PermissionForm>
        <PermissionField />
        <PermissionProblem />
        <PermissionSubmit />
        <PermissionBack />
      </PermissionForm>
      {refusal && <p role="alert">{refusal}</p>}
    </PermissionRoot>
  );
}

/** Returns the agent's words for a rule, or what it allows. */
function nameOf(rule: unknown): string {
  const calls = isObject(rule) ? rule.rules : undefined;
  if (Array.isArray(calls) && calls.length) return calls.map(callsOf).join(", ");
  return textIn(rule, "name", "mode") ?? shown(rule);
}

/** Returns the calls that one of Claude's rules allows: `Bash(git push:*)`. */
function callsOf(rule: unknown): string {
  const tool = textIn(rule, "toolName");
  const content = textIn(rule, "ruleContent");
  if (tool === undefined) return shown(rule);
  return content === undefined ? tool : `${tool}(${content})`;
}
