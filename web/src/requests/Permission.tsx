// A permission request: shows exactly what would run.
import type { OpenRequest } from "@turnwire/client";
import {
  type Decide,
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
  useCurrentPermission,
  usePermission,
} from "@turnwire/react";
import { useId } from "react";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { Icon } from "../app/Icon";
import { Key } from "../app/Key";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { useKeys } from "../app/shortcuts";
import { useStartedAnswer } from "../composer/drafts";
import { hasInvisible, VisibleText } from "../markdown/VisibleText";
import { BrokenRow } from "../talk/BrokenRow";
import { Comparison } from "../tools/Comparison";
import { CommandLine, Fields } from "../tools/cardParts";
import type { LineOf } from "../tools/comparedLines";
import { formatted } from "../tools/toolValues";
import { permissionTitle } from "./permissionTitle";
import { type DeduplicatedParts, deduplicatedPartsOf } from "./requestParts";
import { rulesIn } from "./suggestedRules";
import { TimeLeft } from "./TimeLeft";
import { usePlaces } from "./usePlaces";

interface Props {
  /** The conversation of the request. */
  conversation: string;
  request: OpenRequest;
  decide: Decide;
  /** A `group` if there are several, because landmarks must have different names. */
  role?: "group";
  /** The position among the shown requests: the keys y, n and a are for the first. */
  place: number;
}

export function Permission({ conversation, request, decide, role, place }: Props) {
  const words = useWords();
  const { showRefusal } = useNotices();
  const started = useStartedAnswer(conversation, request.request_id);
  const permission = usePermission(request, decide, { started, place, onRefused: showRefusal });
  const { allow, deny, always, rules: meanings, isReady, form } = permission;
  const { suggestions = [] } = request;
  const title = permissionTitle(request, words);
  const once = deduplicatedPartsOf(request, title);
  const lineOf = usePlaces(conversation, request.request_id, once.changes);
  const [usual = []] = meanings;
  const hasKeys = place === 0;
  const isOn = isReady && hasKeys && form === "plain";
  const rules = useId();
  useKeys({ allow, deny, ...(meanings.length ? { always: () => always(usual) } : {}) }, isOn);
  const keyLook = isOn ? undefined : "soon";
  return (
    <PermissionRoot
      permission={permission}
      role={role}
      className="request permission"
      aria-label={words.permission}
    >
      <header>
        <Icon name="shield" />
        <h2>
          <VisibleText text={title} />
        </h2>
        <TimeLeft deadline={request.deadline_at} />
      </header>
      <div className="asked-for">
        {once.description && (
          <p>
            <VisibleText text={once.description} />
          </p>
        )}
        <ErrorBoundary of={request} instead={() => <BrokenRow row={formatted(request.input)} />}>
          <RequestParts once={once} lineOf={lineOf} />
        </ErrorBoundary>
        {request.reason && (
          <p className="muted">
            <VisibleText text={request.reason} />
          </p>
        )}
        {once.blockedPath && (
          <p className="muted">
            {words.blockedPath}{" "}
            <code>
              <VisibleText text={once.blockedPath} />
            </code>
          </p>
        )}
        {hasInvisible(formatted(request.input)) && (
          <p className="bad">
            <Icon name="warning" /> {words.invisibleWarning}
          </p>
        )}
      </div>
      {suggestions.length > 0 && form === "plain" && (
        <p className="rules" id={rules}>
          <span className="muted">{words.rules.always}</span>
          {meanings.length === 1 &&
            rulesIn(suggestions, words).map((rule) => (
              <span key={rule}>
                <VisibleText text={rule} />
              </span>
            ))}
        </p>
      )}
      {meanings.length > 1 && form === "plain" && (
        <ul className="rules">
          {rulesIn(suggestions, words).map((rule, number) => (
            <li key={rule}>
              <PermissionAlways rules={meanings[number] ?? usual} aria-describedby={`${rules}-${number}`}>
                {words.always} {hasKeys && number === 0 && <Key of="always" className={keyLook} />}
              </PermissionAlways>
              <span id={`${rules}-${number}`}>
                <VisibleText text={rule} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {form === "plain" && (
        <div className="choices">
          <PermissionAllow className="primary">
            {words.allow} {hasKeys && <Key of="allow" className={keyLook} />}
          </PermissionAllow>
          {meanings.length === 1 && (
            <PermissionAlways rules={usual} aria-describedby={rules}>
              {words.always} {hasKeys && <Key of="always" className={keyLook} />}
            </PermissionAlways>
          )}
          <PermissionDeny>
            {words.deny} {hasKeys && <Key of="deny" className={keyLook} />}
          </PermissionDeny>
          {permission.takesText && (
            <div className="lesser-choices">
              <PermissionDenyWithReason className="quiet" />
              <PermissionEdit className="quiet" />
            </div>
          )}
        </div>
      )}
      {form === "deny" && (
        <PermissionForm className="line">
          <PermissionField />
          <PermissionSubmit />
          <PermissionBack className="quiet" />
        </PermissionForm>
      )}
      {form === "edit" && (
        <PermissionForm className="edit">
          <PermissionField />
          <InvisibleText />
          <PermissionProblem className="bad" />
          <div className="choices">
            <PermissionSubmit className="primary" />
            <PermissionBack className="quiet" />
          </div>
        </PermissionForm>
      )}
    </PermissionRoot>
  );
}

/** Shows the changed input once more, if a part of it is invisible in a field. */
function InvisibleText() {
  const { text } = useCurrentPermission();
  if (!hasInvisible(text)) return null;
  return (
    <pre className="bad">
      <VisibleText text={text} />
    </pre>
  );
}

/** All arguments: the person who decides must see each of them. */
function RequestParts({
  once: { command, changes, rest },
  lineOf,
}: {
  once: DeduplicatedParts;
  lineOf: LineOf;
}) {
  return (
    <>
      {command !== undefined && <CommandLine command={command} />}
      {changes.map((change, at) => (
        <Comparison key={at} change={change} lineOf={lineOf} />
      ))}
      {rest !== undefined && <Fields value={rest} />}
    </>
  );
}
