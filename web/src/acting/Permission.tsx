// A permission request: shows exactly what would run.
import type { OpenRequest, PermissionChoice } from "@turnwire/client";
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { Guard } from "../app/Guard";
import { Icon } from "../app/Icon";
import { keep } from "../app/kept";
import { useKeys } from "../app/keys";
import { useWords } from "../app/words";
import { hasUnseen, Unseen } from "../markdown/Unseen";
import { BrokenRow } from "../talk/BrokenRow";
import { CommandLine, Diff, Raw } from "../tools/parts";
import { isObject, pretty, textIn } from "../tools/reading";
import { isCommandless, meant, written } from "./changing";
import { begun, begunOf } from "./drafts";
import { rulesIn } from "./rules";
import { TimeLeft } from "./TimeLeft";
import { permissionTitle } from "./titles";
import { type Once, onceOf } from "./wanted";

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
interface Begun {
  mode: Mode;
  text: string;
}

/**
 * Milliseconds. A key press or click for the previous request must not decide this one, which is
 * still unread.
 */
const NOT_BLINDLY = 400;

/** Whether it has been at this position for that long. */
function useStays(place: number, delay: number): boolean {
  const [stays, setStays] = useState<number>();
  useEffect(() => {
    const timer = setTimeout(() => setStays(place), delay);
    return () => clearTimeout(timer);
  }, [place, delay]);
  return stays === place;
}

/** Escape closes the form; it does not interrupt the agent. */
function leaving(back: () => void) {
  return (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    back();
  };
}

export function Permission({ conversation, request, decide, role, place }: Props) {
  const words = useWords();
  // A started reply survives a reload of the page.
  const name = begunOf("answer", conversation, request.request_id);
  const [before] = useState(() => begunIn(begun(name)));
  const [mode, setMode] = useState(before.mode);
  const wordsOf = (form: Mode) => (before.mode === form ? before.text : undefined);
  const keepWords = (text: string) => keep(name, JSON.stringify({ mode, text } satisfies Begun));
  const back = () => {
    keep(name, null);
    setMode("plain");
  };
  const [isBusy, setBusy] = useState(false);
  const { suggestions = [] } = request;
  const title = permissionTitle(request, words);
  const once = onceOf(request, title);
  const tell: Decide = async (decision, more) => {
    setBusy(true);
    try {
      if ((await decide(decision, more)) !== undefined) keep(name, null);
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
      {mode === "deny" && <Why begun={wordsOf("deny")} write={keepWords} tell={tell} back={back} />}
      {mode === "edit" && (
        <Edit begun={wordsOf("edit")} write={keepWords} request={request} tell={tell} back={back} />
      )}
    </section>
  );
}

/** All arguments: the person who decides must see each of them. */
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

/** Reads a stored reply. Ignores invalid parts. */
function begunIn(kept: unknown): Begun {
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
      onKeyDown={leaving(back)}
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
    const asked = written(request.input);
    return { ...asked, text: begun ?? asked.text };
  });
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
          write(event.target.value);
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
