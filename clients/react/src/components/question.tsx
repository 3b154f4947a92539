// The questions of a request, with the controls to answer them.
import type { OpenRequest } from "@turnwire/client";
import { type ReactElement, useId } from "react";
import { type Answer, type UsedPart, useQuestion } from "../headless/question.js";
import {
  QuestionMissing,
  QuestionOption,
  QuestionOwnAnswer,
  QuestionRoot,
  QuestionSkip,
  QuestionSubmit,
} from "./question_parts.js";
import { useWords } from "./words.js";

export interface QuestionProps {
  request: OpenRequest;
  answer: Answer;
  className?: string;
}

/** Shows the questions of a request, with their options and a field for an own answer. */
export function Question({ request, answer, className }: QuestionProps): ReactElement {
  const question = useQuestion(request, answer);
  const { parts, isBusy, refusal, submit } = question;
  const [first] = parts;
  const isQuick = first !== undefined && parts.length === 1 && !first.question.multi;
  return (
    <QuestionRoot className={className} question={question}>
      <fieldset disabled={isBusy}>
        {isQuick ? (
          <Quick part={first} choose={submit} />
        ) : (
          parts.map((part) => <Options key={part.question.id} part={part} />)
        )}
        {(!isQuick || first.takesWords) && <QuestionSubmit />}
        <QuestionSkip />
      </fieldset>
      <QuestionMissing />
      {refusal && <p role="alert">{refusal}</p>}
    </QuestionRoot>
  );
}

/** One question with one answer: each option is a button. */
function Quick({ part, choose }: { part: UsedPart; choose: (label: string) => void }): ReactElement {
  const { question } = part;
  return (
    <>
      <legend>{question.question}</legend>
      {question.options?.map(({ label, description }) => (
        <Choice key={label} label={label} description={description} choose={() => choose(label)} />
      ))}
      <OwnAnswer part={part} />
    </>
  );
}

interface ChoiceProps {
  label: string;
  description: string | undefined;
  choose: () => void;
}

/** An option that is sent at once. */
function Choice({ label, description, choose }: ChoiceProps): ReactElement {
  const id = useId();
  return (
    <div data-turnwire="option">
      <button type="button" aria-describedby={description && id} onClick={choose}>
        {label}
      </button>
      {description && <small id={id}>{description}</small>}
    </div>
  );
}

function OwnAnswer({ part }: { part: UsedPart }): ReactElement {
  return <QuestionOwnAnswer part={part} placeholder={useWords().ownAnswerHint} />;
}

/** One of several questions, or one with several answers. */
function Options({ part }: { part: UsedPart }): ReactElement {
  const id = useId();
  const { question } = part;
  return (
    <fieldset aria-labelledby={id}>
      <legend id={id}>{question.question}</legend>
      {question.options?.map(({ label, description }) => (
        <QuestionOption key={label} part={part} value={label}>
          <span>
            {label}
            {description && <small> {description}</small>}
          </span>
        </QuestionOption>
      ))}
      <OwnAnswer part={part} />
    </fieldset>
  );
}
