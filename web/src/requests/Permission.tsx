// A permission request: shows exactly what would run.
import type { OpenRequest, PermissionChoice } from "@turnwire/client";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { store } from "../app/browserStorage";
import { ErrorBoundary } from "../app/ErrorBoundary";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useKeys } from "../app/shortcuts";
import { readStartedText, startedTextName } from "../composer/drafts";
import { hasInvisible, VisibleText } from "../markdown/VisibleText";
import { BrokenRow } from "../talk/BrokenRow";
import { CommandLine, Raw } from "../tools/cardParts";
import { formatted, isObject, textIn } from "../tools/toolValues";
import { Comparison } from "./Comparison";
import { fromEditable, hasEmptyCommand, toEditable } from "./editableInput";
import { permissionTitle } from "./permissionTitle";
import { type DeduplicatedParts, deduplicatedPartsOf } from "./requestParts";
import { rulesIn } from "./suggestedRules";
import { TimeLeft } from "./TimeLeft";

export type Decide = (
  decision: PermissionChoice["decision"],
  more?: Omit<PermissionChoice, "request_id" | "decision">,
) => Promise<unknown>;

interface Props {
  /** The conversation of the request. */
  conversation: string;
  request: OpenRequest;
  /** Undefined if it was refused. */
  decide: Decide;
  /** A `group` if there are several, because landmarks must have different names. */
  role?: "group";
  /** The position among the shown requests: the keys y, n and a are for the first. */
  place: number;
}

type Mode = "plain" | "deny" | "edit";

/** A reply with text that was started and not sent. */
interface StartedReply {
  mode: Mode;
  text: string;
}

/**
 * Milliseconds. A key press or click for the previous request must not decide this one, which is
 * still unread.
 */
const UNREAD_TIME = 400;

/** Whether it has been at this position for that long. */
function useIsStable(place: number, delay: number): boolean {
  const [stays, setStays] = useState<number>();
  useEffect(() => {
    const timer = setTimeout(() => setStays(place), delay);
    return () => clearTimeout(timer);
  }, [place, delay]);
  return stays === place;
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
  // A started reply survives a reload of the page.
  const name = startedTextName("answer", conversation, request.request_id);
  const [before] = useState(() => begunIn(readStartedText(name)));
  const [mode, setMode] = useState(before.mode);
  const textOf = (form: Mode) => (before.mode === form ? before.text : undefined);
  const keepWords = (text: string) => store(name, JSON.stringify({ mode, text } satisfies StartedReply));
  const back = () => {
    store(name, null);
    setMode("plain");
  };
  const [isBusy, setBusy] = useState(false);
  const { suggestions = [] } = request;
  const title = permissionTitle(request, words);
  const once = deduplicatedPartsOf(request, title);
  const tell: Decide = async (decision, more) => {
    setBusy(true);
    try {
      if ((await decide(decision, more)) !== undefined) store(name, null);
    } finally {
      setBusy(false);
    }
  };
  const allow = () => void tell("allow");
  const meanings = meaningsOfAlways(request);
  const always = (remember = meanings[0] ?? []) => void tell("allow", { remember });
  const hasKeys = place === 0;
  const isReady = useIsStable(place, UNREAD_TIME) && !isBusy;
  const isOn = isReady && hasKeys && mode === "plain";
  const rules = useId();
  useKeys({ y: allow, n: () => void tell("deny"), ...(meanings.length ? { a: () => always() } : {}) }, isOn);
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
          <RequestParts once={once} />
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
      {suggestions.length > 0 && mode === "plain" && (
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
      {meanings.length > 1 && mode === "plain" && (
        <ul className="rules">
          {rulesIn(suggestions, words).map((rule, number) => (
            <li key={rule}>
              <button
                type="button"
                disabled={!isReady}
                onClick={() => always(meanings[number])}
                aria-describedby={`${rules}-${number}`}
              >
                {words.always} {hasKeys && number === 0 && <kbd className={isOn ? undefined : "soon"}>a</kbd>}
              </button>
              <span id={`${rules}-${number}`}>
                <VisibleText text={rule} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {mode === "plain" && (
        <div className="choices">
          <button type="button" className="primary" disabled={!isReady} onClick={allow}>
            {words.allow} {hasKeys && <kbd className={isOn ? undefined : "soon"}>y</kbd>}
          </button>
          {meanings.length === 1 && (
            <button type="button" disabled={!isReady} onClick={() => always()} aria-describedby={rules}>
              {words.always} {hasKeys && <kbd className={isOn ? undefined : "soon"}>a</kbd>}
            </button>
          )}
          <button type="button" disabled={!isReady} onClick={() => void tell("deny")}>
            {words.deny} {hasKeys && <kbd className={isOn ? undefined : "soon"}>n</kbd>}
          </button>
          {!request.decision_only && (
            <>
              <button type="button" className="quiet" disabled={isBusy} onClick={() => setMode("deny")}>
                {words.denyWhy}
              </button>
              <button type="button" className="quiet" disabled={isBusy} onClick={() => setMode("edit")}>
                {words.edit}
              </button>
            </>
          )}
        </div>
      )}
      {mode === "deny" && <Why begun={textOf("deny")} write={keepWords} tell={tell} back={back} />}
      {mode === "edit" && (
        <Edit begun={textOf("edit")} write={keepWords} request={request} tell={tell} back={back} />
      )}
    </section>
  );
}

/** Returns what "always" can mean: all rules together, or each by itself if the agent takes only one. */
function meaningsOfAlways({ decision_only, suggestions = [] }: OpenRequest): unknown[][] {
  if (decision_only) return suggestions.map((each) => [each]);
  return suggestions.length ? [[...suggestions]] : [];
}

/** All arguments: the person who decides must see each of them. */
function RequestParts({ once: { command, changes, rest } }: { once: DeduplicatedParts }) {
  return (
    <>
      {command !== undefined && <CommandLine command={command} />}
      {changes.map((change, at) => (
        <Comparison key={at} change={change} />
      ))}
      {rest !== undefined && <Raw value={rest} />}
    </>
  );
}

/** Reads a stored reply. Ignores invalid parts. */
function begunIn(kept: unknown): StartedReply {
  const text = isObject(kept) ? textIn(kept, "text") : undefined;
  if (!isObject(kept) || !text || (kept.mode !== "deny" && kept.mode !== "edit")) {
    return { mode: "plain", text: "" };
  }
  return { mode: kept.mode, text };
}

interface FormProps {
  /** The text from before a reload of the page. */
  begun: string | undefined;
  write: (text: string) => void;
  tell: Decide;
  back: () => void;
}

function Why({ begun = "", write, tell, back }: FormProps) {
  const words = useWords();
  const [reason, setReason] = useState(begun);
  return (
    <form
      className="line"
      onKeyDown={onEscape(back)}
      onSubmit={(event) => {
        event.preventDefault();
        void tell("deny", reason.trim() ? { reason: reason.trim() } : {});
      }}
    >
      <input
        autoFocus
        value={reason}
        onChange={(event) => {
          setReason(event.target.value);
          write(event.target.value);
        }}
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

function Edit({ begun, write, request, tell, back }: FormProps & { request: OpenRequest }) {
  const words = useWords();
  const [{ text, isCommand }, setWritten] = useState(() => {
    const asked = toEditable(request.input);
    return { ...asked, text: begun ?? asked.text };
  });
  const [problem, setProblem] = useState("");
  const run = () => {
    if (!text.trim()) return setProblem(words.emptyCommand);
    let changed: unknown;
    try {
      changed = fromEditable({ text, isCommand }, request.input);
    } catch (error) {
      return setProblem(words.notJson((error as Error).message));
    }
    if (hasEmptyCommand(changed)) return setProblem(words.emptyCommand);
    void tell("allow", { updated_input: changed });
  };
  return (
    <form
      className="edit"
      onKeyDown={onEscape(back)}
      onSubmit={(event) => {
        event.preventDefault();
        run();
      }}
    >
      <textarea
        autoFocus
        spellCheck={false}
        dir="ltr"
        rows={Math.min(10, text.split("\n").length + 1)}
        value={text}
        aria-label={words.edit}
        onChange={(event) => {
          setProblem("");
          setWritten({ text: event.target.value, isCommand });
          write(event.target.value);
        }}
      />
      {hasInvisible(text) && (
        <pre className="bad">
          <VisibleText text={text} />
        </pre>
      )}
      {problem && (
        <p className="bad" role="alert">
          {problem}
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
