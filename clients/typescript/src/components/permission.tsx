// A permission request, with the controls to decide it.
import type { ReactElement } from "react";
import type { OpenRequest } from "../generated/types.js";
import { type Decide, type UsedPermission, usePermission } from "../headless/permission.js";
import { shown } from "./message.js";
import { VisibleText } from "./visible_text.js";

export interface PermissionProps {
  request: OpenRequest;
  decide: Decide;
  /** The position among the shown requests. */
  place?: number;
  className?: string;
}

/** Shows a tool call that waits for a permission, with the buttons to allow and to deny it. */
export function Permission({ request, decide, place, className }: PermissionProps): ReactElement {
  const used = usePermission(request, decide, { place });
  return (
    <fieldset className={className} data-turnwire="permission" disabled={used.isBusy}>
      <legend>
        <VisibleText text={request.title ?? `May ${request.tool_name} run?`} />
      </legend>
      {request.description && (
        <p>
          <VisibleText text={request.description} />
        </p>
      )}
      <pre>
        <VisibleText text={shown(request.input)} />
      </pre>
      {used.form === "plain" ? <Choices used={used} /> : <Form used={used} />}
      {used.refusal && <p role="alert">{used.refusal}</p>}
    </fieldset>
  );
}

function Choices({ used }: { used: UsedPermission }): ReactElement {
  return (
    <div data-turnwire="choices">
      <button type="button" disabled={!used.isReady} onClick={used.allow}>
        Allow
      </button>
      <button type="button" disabled={!used.isReady} onClick={used.deny}>
        Deny
      </button>
      {used.rules.map((rules, at) => (
        <button
          key={at}
          type="button"
          disabled={!used.isReady}
          title={shown(rules)}
          onClick={() => used.always(rules)}
        >
          Always allow{used.rules.length > 1 && `: ${nameOf(rules[0])}`}
        </button>
      ))}
      {used.takesText && (
        <>
          <button type="button" onClick={() => used.openForm("deny")}>
            Deny with a reason
          </button>
          <button type="button" onClick={() => used.openForm("edit")}>
            Edit
          </button>
        </>
      )}
    </div>
  );
}

/** A field for the reason of a denial, or for what is to run instead. */
function Form({ used }: { used: UsedPermission }): ReactElement {
  const isEdit = used.form === "edit";
  const label = isEdit ? "What is to run" : "Why not?";
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
        <p role="alert">{used.problem.kind === "json" ? used.problem.message : "This would run nothing."}</p>
      )}
      <button type="submit">{isEdit ? "Allow this" : "Deny"}</button>
      <button type="button" onClick={used.back}>
        Back
      </button>
    </form>
  );
}

/** Returns the agent's words for a rule, if it has any. */
function nameOf(rule: unknown): string {
  const name = (rule as { name?: unknown } | undefined)?.name;
  return typeof name === "string" ? name : shown(rule);
}
