// The questions of a request, with the controls to answer them.

import type { OpenRequest } from "@turnwire/client";
import { type ReactElement, useId } from "react";
import { type Answer, type UsedPart, useQuestion } from "../headless/question.js";
import { useWords } from "./words.js";

export interface QuestionProps {
  request: OpenRequest;
  answer: Answer;
  className?: string;
}

/** Shows the questions of a request, with their options and a field for an own answer. */
export function Question({ request, answer, className }: QuestionProps): ReactElement {
  const words = useWords();
  const { parts, isRequired, isMissing, isBusy, refusal, submit, skip } = useQuestion(request, answer);
  const [first] = parts;
  const isQuick = first !== undefined && parts.length === 1 && !first.question.multi;
  return (
    <form
      className={className}
      data-turnwire="question"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <fieldset disabled={isBusy}>
        {isQuick ? (
          <Quick part={first} choose={submit} />
        ) : (
          parts.map((part) => <Options key={part.question.id} part={part} />)
        )}
        {(!isQuick || first.takesWords) && <button type="submit">{words.answer}</button>}
        {!isRequired && (
          <button type="button" onClick={skip}>
            {words.skip}
          </button>
        )}
      </fieldset>
      {isMissing && <p role="alert">{words.answerMissing}</p>}
      {refusal && <p role="alert">{refusal}</p>}
    </form>
  );
}

/** One question with one answer: each option is a button. */
function Quick({ part, choose }: { part: UsedPart; choose: (label: string) => void }): ReactElement {
  const { question } = part;
  return (
    <>
      <legend>{question.question}</legend>
      {question.options?.map(({ label, description }) => (
        <button key={label} type="button" title={description} onClick={() => choose(label)}>
          {label}
        </button>
      ))}
      {part.takesWords && <OwnAnswer part={part} />}
    </>
  );
}

/** One of several questions, or one with several answers. */
function Options({ part }: { part: UsedPart }): ReactElement {
  const id = useId();
  const { question } = part;
  return (
    <fieldset aria-labelledby={id}>
      <legend id={id}>{question.question}</legend>
      {question.options?.map(({ label, description }) => (
        <label key={label} title={description}>
          <input
            type={question.multi ? "checkbox" : "radio"}
            name={id}
            value={label}
            checked={part.isChosen(label)}
            onChange={(event) => part.choose(label, event.target.checked)}
          />
          {label}
        </label>
      ))}
      {part.takesWords && <OwnAnswer part={part} />}
    </fieldset>
  );
}

function OwnAnswer({ part }: { part: UsedPart }): ReactElement {
  const words = useWords();
  return (
    <input
      aria-label={words.ownAnswer(part.question.question)}
      value={part.words}
      onChange={(event) => part.write(event.target.value)}
    />
  );
}
