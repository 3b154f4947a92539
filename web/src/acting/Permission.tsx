// Leave, or not: the bar shows exactly what would run.
import type { OpenRequest, PermissionChoice } from "@turnwire/client";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { Guard } from "../app/Guard";
import { Icon } from "../app/Icon";
import { useKeys } from "../app/keys";
import { useWords } from "../app/words";
import { hasUnseen, Unseen } from "../markdown/Unseen";
import { BrokenRow } from "../talk/BrokenRow";
import { CommandLine, Diff, Raw } from "../tools/parts";
import { pretty } from "../tools/reading";
import { isCommandless, meant, written } from "./changing";
import { rulesIn } from "./rules";
import { TimeLeft } from "./TimeLeft";
import { permissionTitle } from "./titles";
import { type Once, onceOf } from "./wanted";

export type Decide = (
  decision: PermissionChoice["decision"],
  more?: Omit<PermissionChoice, "request_id" | "decision">,
) => Promise<unknown>;

interface Props {
  request: OpenRequest;
  decide: Decide;
  /** A `group` where there are several: landmarks have to be told apart. */
  role?: "group";
  /** Where it stands among those that are shown: the keys y, n and a are for the first. */
  place: number;
}

type Mode = "plain" | "deny" | "edit";

/** Milliseconds. A key or a click that was meant for the one before must not decide this one, which nobody has read. */
const NOT_BLINDLY = 400;

/** Whether it has stood at this place for so long. */
function useStays(place: number, delay: number): boolean {
  const [stays, setStays] = useState<number>();
  useEffect(() => {
    const timer = setTimeout(() => setStays(place), delay);
    return () => clearTimeout(timer);
  }, [place, delay]);
  return stays === place;
}

/** Escape leaves the form; it does not stop the agent. */
function leaving(back: () => void) {
  return (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    back();
  };
}

export function Permission({ request, decide, role, place }: Props) {
  const words = useWords();
  const [mode, setMode] = useState<Mode>("plain");
  const [isBusy, setBusy] = useState(false);
  const { suggestions = [] } = request;
  const title = permissionTitle(request, words);
  const once = onceOf(request, title);
  const tell: Decide = async (decision, more) => {
    setBusy(true);
    try {
      await decide(decision, more);
    } finally {
      setBusy(false);
    }
  };
  const allow = () => void tell("allow");
  const always = () => void tell("allow", { remember: suggestions });
  const hasKeys = place === 0;
  const isReady = useStays(place, NOT_BLINDLY) && !isBusy;
  const isOn = isReady && hasKeys && mode === "plain";
  const rules = useId();
  useKeys({ y: allow, n: () => void tell("deny"), ...(suggestions.length ? { a: always } : {}) }, isOn);
  return (
    <section role={role} className="request permission" aria-label={words.permission}>
      <header>
        <Icon name="shield" />
        <h2>
          <Unseen text={title} />
        </h2>
        <TimeLeft deadline={request.deadline_at} />
      </header>
      <div className="asked-for">
        {once.description && (
          <p>
            <Unseen text={once.description} />
          </p>
        )}
        <Guard of={request} instead={() => <BrokenRow row={pretty(request.input)} />}>
          <Wanted once={once} />
        </Guard>
        {request.reason && (
          <p className="muted">
            <Unseen text={request.reason} />
          </p>
        )}
        {once.blockedPath && (
          <p className="muted">
            {words.blockedPath}{" "}
            <code>
              <Unseen text={once.blockedPath} />
            </code>
          </p>
        )}
        {hasUnseen(pretty(request.input)) && (
          <p className="bad">
            <Icon name="warning" /> {words.unseenWarning}
          </p>
        )}
        {suggestions.length > 0 && mode === "plain" && (
          <p className="rules" id={rules}>
            <span className="muted">{words.rules.always}</span>
            {rulesIn(suggestions, words).map((rule) => (
              <code key={rule}>
                <Unseen text={rule} />
              </code>
            ))}
          </p>
        )}
      </div>
      {mode === "plain" && (
        <div className="choices">
          <button type="button" className="primary" disabled={!isReady} onClick={allow}>
            {words.allow} {hasKeys && <kbd className={isOn ? undefined : "soon"}>y</kbd>}
          </button>
          {suggestions.length > 0 && (
            <button type="button" disabled={!isReady} onClick={always} aria-describedby={rules}>
              {words.always} {hasKeys && <kbd className={isOn ? undefined : "soon"}>a</kbd>}
            </button>
          )}
          <button type="button" disabled={!isReady} onClick={() => void tell("deny")}>
            {words.deny} {hasKeys && <kbd className={isOn ? undefined : "soon"}>n</kbd>}
          </button>
          <button type="button" className="quiet" disabled={isBusy} onClick={() => setMode("deny")}>
            {words.denyWhy}
          </button>
          <button type="button" className="quiet" disabled={isBusy} onClick={() => setMode("edit")}>
            {words.edit}
          </button>
        </div>
      )}
      {mode === "deny" && <Why tell={tell} back={() => setMode("plain")} />}
      {mode === "edit" && <Edit request={request} tell={tell} back={() => setMode("plain")} />}
    </section>
  );
}

/** Whoever decides has to see every argument. */
function Wanted({ once: { command, changes, rest } }: { once: Once }) {
  return (
    <>
      {command !== undefined && <CommandLine command={command} />}
      {changes.map((change, at) => (
        <Diff key={at} change={change} />
      ))}
      {rest !== undefined && <Raw value={rest} />}
    </>
  );
}

function Why({ tell, back }: { tell: Decide; back: () => void }) {
  const words = useWords();
  const [reason, setReason] = useState("");
  return (
    <form
      className="line"
      onKeyDown={leaving(back)}
      onSubmit={(event) => {
        event.preventDefault();
        void tell("deny", reason.trim() ? { reason: reason.trim() } : {});
      }}
    >
      <input
        autoFocus
        value={reason}
        onChange={(event) => setReason(event.target.value)}
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

function Edit({ request, tell, back }: { request: OpenRequest; tell: Decide; back: () => void }) {
  const words = useWords();
  const [{ text, isCommand }, setWritten] = useState(() => written(request.input));
  const [problem, setProblem] = useState("");
  const run = () => {
    if (!text.trim()) return setProblem(words.emptyCommand);
    let changed: unknown;
    try {
      changed = meant({ text, isCommand }, request.input);
    } catch (error) {
      return setProblem(words.notJson((error as Error).message));
    }
    if (isCommandless(changed)) return setProblem(words.emptyCommand);
    void tell("allow", { updated_input: changed });
  };
  return (
    <form
      className="edit"
      onKeyDown={leaving(back)}
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
        }}
      />
      {hasUnseen(text) && (
        <pre className="bad">
          <Unseen text={text} />
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
