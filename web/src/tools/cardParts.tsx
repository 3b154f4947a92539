// The parts of cards.

import { useLayoutEffect, useMemo, useRef } from "react";
import { CopyButton } from "../app/CopyButton";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { lookUp } from "../app/lookup";
import { Coloured } from "../markdown/Code";
import { LongText } from "../markdown/LongText";
import { useShowAll } from "../markdown/soughtText";
import { VisibleText } from "../markdown/VisibleText";
import { markupParts } from "./agentMarkup";
import { colouredPieces, withoutColours } from "./ansi";
import { formatted, isObject, laidOut, type Todo } from "./toolValues";

/** The number of lines that are shown at first. */
const FIRST = 400;
const CHARACTERS = 60_000;
/** Lines that the box of an output holds. A longer one has a button that shows all of it. */
const BOX = 14;
/** Pixels from the end that count as the end. */
const NEAR = 8;

interface OutputProps {
  /** With its colours, as the tool wrote it. */
  text: string;
  isLive?: boolean;
  isError?: boolean;
}

/** The output of a tool, each part as what it means. */
export function Output({ text, isLive = false, isError = false }: OutputProps) {
  const parts = useMemo(() => markupParts(text), [text]);
  return parts.map(({ kind, text }, at) =>
    kind === "reminder" ? (
      <Reminder key={at} text={text} />
    ) : (
      <OnePart key={at} text={text} isLive={isLive} isError={isError || kind === "error"} />
    ),
  );
}

/** What an agent tells its model, folded. */
export function Reminder({ text }: { text: string }) {
  const words = useWords();
  return (
    <details className="reminder">
      <summary>{words.reminder}</summary>
      <p>
        <VisibleText text={text} />
      </p>
    </details>
  );
}

/** Of a long output the end, which tells the result. It stays in sight until the person scrolls. */
function OnePart({ text, isLive, isError }: Required<OutputProps>) {
  const words = useWords();
  const last = useMemo(() => lastOf(text), [text]);
  const [isAll, showAll] = useShowAll(() => withoutColours(text.slice(0, text.length - last.length)));
  const shown = isAll ? text : last;
  const box = useRef<HTMLPreElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [shown, isAll]);
  if (!text) return null;
  return (
    <div className={`output${isError ? " bad" : ""}${isAll ? " all" : ""}`}>
      {!isAll && (shown.length < text.length || isLong(shown)) && (
        <button type="button" className="quiet small show-all" onClick={showAll}>
          {words.showAll(text.length)}
        </button>
      )}
      <pre
        ref={box}
        tabIndex={0}
        aria-label={words.output}
        aria-live={isLive ? "off" : undefined}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollHeight - clientHeight - scrollTop < NEAR;
        }}
      >
        <AnsiText text={shown} />
      </pre>
      <CopyButton text={withoutColours(text)} />
    </div>
  );
}

/** Text with the colours of a terminal. */
function AnsiText({ text }: { text: string }) {
  const pieces = useMemo(() => colouredPieces(text), [text]);
  return pieces.map((piece, at) =>
    piece.style ? (
      <span key={at} className={piece.style}>
        <VisibleText text={piece.text} />
      </span>
    ) : (
      <VisibleText key={at} text={piece.text} />
    ),
  );
}

/** Whether a text is longer than its box. */
function isLong(text: string): boolean {
  return text.trimEnd().split("\n").length > BOX || text.length > 100 * BOX;
}

function lastOf(text: string): string {
  const cut = text.length > CHARACTERS ? text.slice(-CHARACTERS) : text;
  const lines = cut.split("\n");
  return lines.length > FIRST ? lines.slice(-FIRST).join("\n") : cut;
}

/** A command, exactly. */
export function CommandLine({ command }: { command: string }) {
  return (
    <div className="command-line">
      <pre tabIndex={0}>
        <span className="prompt" aria-hidden="true">
          ${" "}
        </span>
        <code dir="ltr">
          <VisibleText text={command} />
        </code>
      </pre>
      <CopyButton text={command} />
    </div>
  );
}

/** The states with their own style. An agent may use any word: others get no class. */
const TODOS = new Set(["pending", "in_progress", "completed"]);

export function Todos({ todos }: { todos: Todo[] }) {
  const words = useWords();
  return (
    <ul className="todos">
      {todos.map((todo, at) => (
        <li key={at} className={TODOS.has(todo.status) ? todo.status : undefined}>
          <span className="mark" aria-hidden="true">
            {todo.status === "completed" ? <Icon name="check" /> : todo.status === "in_progress" ? "•" : ""}
          </span>
          <span>
            <VisibleText text={todo.content} />
            <span className="hidden"> ({lookUp(words.todo, todo.status) ?? todo.status})</span>
          </span>
        </li>
      ))}
    </ul>
  );
}

/** The most fields, and characters in all of them, that are shown one by one. */
const FIELDS = 12;
const IN_FIELDS = 2_000;

interface FieldsProps {
  value: unknown;
  /** The word above them. */
  label?: string | undefined;
}

/** The fields of an input by their names, each with its whole value. A larger input is shown as raw data. */
export function Fields({ value, label }: FieldsProps) {
  const fields = isObject(value) ? Object.entries(value) : undefined;
  if (!fields || fields.length > FIELDS || formatted(value).length > IN_FIELDS)
    return <Raw value={value} label={label} />;
  if (!fields.length) return null;
  return (
    <>
      {label && <p className="label">{label}</p>}
      <dl className="fields">
        {fields.map(([name, each]) => (
          <div key={name}>
            <dt>
              <VisibleText text={name} />
            </dt>
            <dd>
              <Field value={each} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** A text without quotation marks, unless its end or its beginning could not be seen. */
function Field({ value }: { value: unknown }) {
  if (typeof value === "string" && value && value.trim() === value) return <Coloured code={value} />;
  const json = typeof value === "string" ? JSON.stringify(value) : laidOut(value);
  return <Coloured code={json} language="json" />;
}

/** Any value, as raw data. */
export function Raw({ value, label }: FieldsProps) {
  const text = laidOut(value);
  if (!text) return null;
  const isJson = typeof value !== "string";
  return (
    <div className="raw">
      {label && <span className="label">{label}</span>}
      <LongText text={text} most={CHARACTERS}>
        {(shown) => (
          <pre tabIndex={0}>
            <Coloured code={shown} language={isJson ? "json" : undefined} />
          </pre>
        )}
      </LongText>
    </div>
  );
}
