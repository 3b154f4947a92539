// A permission request: shows exactly what would run.
import type { OpenRequest } from "@turnwire/client";
import { type Decide, type UsedPermission, usePermission } from "@turnwire/client/react";
import { type KeyboardEvent, useId } from "react";
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

/** Escape closes the form; it does not interrupt the agent. */
function onEscape(back: () => void) {
  return (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    back();
  };
}

export function Permission({ conversation, request, decide, role, place }: Props) {
  const words = useWords();
  const { showRefusal } = useNotices();
  const started = useStartedAnswer(conversation, request.request_id);
  const used = usePermission(request, decide, { started, place, onRefused: showRefusal });
  const { allow, deny, rules: meanings, isReady, isBusy, form } = used;
  const { suggestions = [] } = request;
  const title = permissionTitle(request, words);
  const once = deduplicatedPartsOf(request, title);
  const lineOf = usePlaces(conversation, request.request_id, once.changes);
  const always = (remember = meanings[0] ?? []) => used.always(remember);
  const hasKeys = place === 0;
  const isOn = isReady && hasKeys && form === "plain";
  const rules = useId();
  useKeys({ allow, deny, ...(meanings.length ? { always: () => always() } : {}) }, isOn);
  const keyLook = isOn ? undefined : "soon";
  return (
    <section role={role} className="request permission" aria-label={words.permission}>
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
              <button
                type="button"
                disabled={!isReady}
                onClick={() => always(meanings[number])}
                aria-describedby={`${rules}-${number}`}
              >
                {words.always} {hasKeys && number === 0 && <Key of="always" className={keyLook} />}
              </button>
              <span id={`${rules}-${number}`}>
                <VisibleText text={rule} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {form === "plain" && (
        <div className="choices">
          <button type="button" className="primary" disabled={!isReady} onClick={allow}>
            {words.allow} {hasKeys && <Key of="allow" className={keyLook} />}
          </button>
          {meanings.length === 1 && (
            <button type="button" disabled={!isReady} onClick={() => always()} aria-describedby={rules}>
              {words.always} {hasKeys && <Key of="always" className={keyLook} />}
            </button>
          )}
          <button type="button" disabled={!isReady} onClick={deny}>
            {words.deny} {hasKeys && <Key of="deny" className={keyLook} />}
          </button>
          {used.takesText && (
            <div className="lesser-choices">
              <button type="button" className="quiet" disabled={isBusy} onClick={() => used.openForm("deny")}>
                {words.denyWhy}
              </button>
              <button type="button" className="quiet" disabled={isBusy} onClick={() => used.openForm("edit")}>
                {words.edit}
              </button>
            </div>
          )}
        </div>
      )}
      {form === "deny" && <Why used={used} />}
      {form === "edit" && <Edit used={used} />}
    </section>
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

function Why({ used: { text, write, submit, back } }: { used: UsedPermission }) {
  const words = useWords();
  return (
    <form
      className="line"
      onKeyDown={onEscape(back)}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <input
        autoFocus
        value={text}
        onChange={(event) => write(event.target.value)}
        placeholder={words.whyNot}
        aria-label={words.whyNot}
      />
      <button type="submit">{words.deny}</button>
      <button type="button" className="quiet" onClick={back}>
        {words.back}
      </button>
    </form>
  );
}

function Edit({ used: { text, write, problem, submit, back } }: { used: UsedPermission }) {
  const words = useWords();
  return (
    <form
      className="edit"
      onKeyDown={onEscape(back)}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <textarea
        autoFocus
        spellCheck={false}
        dir="ltr"
        rows={Math.min(10, text.split("\n").length + 1)}
        value={text}
        aria-label={words.edit}
        onChange={(event) => write(event.target.value)}
      />
      {hasInvisible(text) && (
        <pre className="bad">
          <VisibleText text={text} />
        </pre>
      )}
      {problem && (
        <p className="bad" role="alert">
          {problem.kind === "json" ? words.notJson(problem.message) : words.emptyCommand}
        </p>
      )}
      <div className="choices">
        <button type="submit" className="primary">
          {words.allowChanged}
        </button>
        <button type="button" className="quiet" onClick={back}>
          {words.back}
        </button>
      </div>
    </form>
  );
}
