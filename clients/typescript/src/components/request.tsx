// Questions and permissions, with the controls to answer them.
import { type FormEvent, type ReactElement, useId } from "react";
import type {
  Question as AskedQuestion,
  OpenRequest,
  PermissionChoice,
  QuestionAnswer,
} from "../generated/types.js";
import { useAction } from "./action.js";
import { shown } from "./message.js";

export interface PermissionProps {
  request: OpenRequest;
  decide: (
    requestId: string,
    decision: PermissionChoice["decision"],
    more?: Omit<PermissionChoice, "request_id" | "decision">,
  ) => Promise<unknown>;
  className?: string;
}

/** Shows a tool call that waits for a permission, with the buttons to allow and to deny it. */
export function Permission({ request, decide, className }: PermissionProps): ReactElement {
  const { run, isBusy, refusal } = useAction();
  const { request_id: id, suggestions = [] } = request;
  return (
    <fieldset className={className} data-turnwire="permission" disabled={isBusy}>
      <legend>{request.title ?? `May ${request.tool_name} run?`}</legend>
      {request.description && <p>{request.description}</p>}
      <pre>{shown(request.input)}</pre>
      <button type="button" onClick={() => void run(() => decide(id, "allow"))}>
        Allow
      </button>
      <button type="button" onClick={() => void run(() => decide(id, "deny"))}>
        Deny
      </button>
      {suggestions.length > 0 && (
        <button type="button" onClick={() => void run(() => decide(id, "allow", { remember: suggestions }))}>
          Always allow
        </button>
      )}
      {refusal && <p role="alert">{refusal}</p>}
    </fieldset>
  );
}

export interface QuestionProps {
  request: OpenRequest;
  answer: (questionId: string, answer: QuestionAnswer["answer"]) => Promise<unknown>;
  className?: string;
}

/** Shows the questions of a request, with their options and a field for an own answer. */
export function Question({ request, answer, className }: QuestionProps): ReactElement {
  const { run, isBusy, refusal } = useAction();
  const { request_id: id, questions = [] } = request;
  const [first] = questions;
  const isQuick = first !== undefined && questions.length === 1 && !first.multi;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const answers = Object.fromEntries(questions.map((each, at) => [each.id, answerTo(each, at, given)]));
    void run(() => answer(id, isQuick ? String(answers[first.id]) : answers));
  };
  return (
    <form className={className} data-turnwire="question" onSubmit={submit}>
      <fieldset disabled={isBusy}>
        {questions.map((each, at) =>
          isQuick ? (
            <Quick key={each.id} question={each} choose={(label) => void run(() => answer(id, label))} />
          ) : (
            <Options key={each.id} question={each} at={at} />
          ),
        )}
        {(!isQuick || takesWords(first)) && <button type="submit">Answer</button>}
      </fieldset>
      {refusal && <p role="alert">{refusal}</p>}
    </form>
  );
}

function takesWords(question: AskedQuestion): boolean {
  return question.free_text !== false || !question.options?.length;
}

/** One question with one answer: each option is a button. */
function Quick(props: { question: AskedQuestion; choose: (label: string) => void }): ReactElement {
  const { question, choose } = props;
  return (
    <>
      <legend>{question.question}</legend>
      {question.options?.map(({ label, description }) => (
        <button key={label} type="button" title={description} onClick={() => choose(label)}>
          {label}
        </button>
      ))}
      {takesWords(question) && <Words at={0} question={question} isRequired />}
    </>
  );
}

/** One of several questions, or one with several answers. */
function Options({ question, at }: { question: AskedQuestion; at: number }): ReactElement {
  const id = useId();
  return (
    <fieldset aria-labelledby={id}>
      <legend id={id}>{question.question}</legend>
      {question.options?.map(({ label, description }) => (
        <label key={label} title={description}>
          <input type={question.multi ? "checkbox" : "radio"} name={`option-${at}`} value={label} />
          {label}
        </label>
      ))}
      {takesWords(question) && <Words at={at} question={question} />}
    </fieldset>
  );
}

function Words(props: { at: number; question: AskedQuestion; isRequired?: boolean }): ReactElement {
  const { at, question, isRequired } = props;
  return (
    <input name={`words-${at}`} aria-label={`Your own answer: ${question.question}`} required={isRequired} />
  );
}

/** Own words take the place of the chosen option, or are added to the chosen options. */
function answerTo(question: AskedQuestion, at: number, given: FormData): string | string[] {
  const words = String(given.get(`words-${at}`) ?? "").trim();
  const chosen = given.getAll(`option-${at}`).map(String);
  if (question.multi) return words ? [...chosen, words] : chosen;
  return words || (chosen[0] ?? "");
}
