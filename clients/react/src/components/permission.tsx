// A permission request, with the controls to decide it.

import type { OpenRequest } from "@turnwire/client";
import type { ReactElement } from "react";
import { isObject, shown, textIn } from "../headless/json.js";
import { type Decide, type UsedPermission, usePermission } from "../headless/permission.js";
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
  const used = usePermission(request, decide, { place });
  return (
    <fieldset className={className} data-turnwire="permission" disabled={used.isBusy}>
      <legend>
        <VisibleText text={request.title ?? words.mayRun(request.tool_name)} />
      </legend>
      {request.description && (
        <p>
          <VisibleText text={request.description} />
        </p>
      )}
      <Input input={request.input} />
      {used.form === "plain" ? <Choices used={used} /> : <Form used={used} />}
      {used.refusal && <p role="alert">{used.refusal}</p>}
    </fieldset>
  );
}

function Choices({ used }: { used: UsedPermission }): ReactElement {
  const words = useWords();
  return (
    <div data-turnwire="choices">
      <button type="button" disabled={!used.isReady} onClick={used.allow}>
        {words.allow}
      </button>
      <button type="button" disabled={!used.isReady} onClick={used.deny}>
        {words.deny}
      </button>
      {used.rules.map((rules, at) => (
        <button
          key={at}
          type="button"
          disabled={!used.isReady}
          title={rules.map(nameOf).join(", ")}
          onClick={() => used.always(rules)}
        >
          <VisibleText text={words.alwaysAllow(used.rules.length > 1 ? nameOf(rules[0]) : undefined)} />
        </button>
      ))}
      {used.takesText && (
        <>
          <button type="button" onClick={() => used.openForm("deny")}>
            {words.denyWithReason}
          </button>
          <button type="button" onClick={() => used.openForm("edit")}>
            {words.edit}
          </button>
        </>
      )}
    </div>
  );
}

/** A field for the reason of a denial, or for what is to run instead. */
function Form({ used }: { used: UsedPermission }): ReactElement {
  const words = useWords();
  const isEdit = used.form === "edit";
  const label = isEdit ? words.whatRuns : words.whyNot;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        used.submit();
      }}
    >
      <textarea
        aria-label={label}
        placeholder={label}
        spellCheck={!isEdit}
        rows={Math.min(10, used.text.split("\n").length)}
        value={used.text}
        onChange={(event) => used.write(event.target.value)}
      />
      {used.problem && (
        <p role="alert">{used.problem.kind === "json" ? used.problem.message : words.runsNothing}</p>
      )}
      <button type="submit">{isEdit ? words.allowThis : words.deny}</button>
      <button type="button" onClick={used.back}>
        {words.back}
      </button>
    </form>
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
