// A question of the agent, as a form.

import type { OpenRequest } from "@turnwire/client";
import { type Answer, type UsedPart, useQuestion } from "@turnwire/react";
import { useId } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { useStartedAnswer } from "../composer/drafts";
import { VisibleText } from "../markdown/VisibleText";
import { TimeLeft } from "./TimeLeft";

interface Props {
  /** The conversation of the question. */
  conversation: string;
  request: OpenRequest;
  /** A `group` if there are several, because landmarks must have different names. */
  role?: "group";
  answer: Answer;
}

export function QuestionForm({ conversation, request, role, answer }: Props) {
  const words = useWords();
  const { showRefusal } = useNotices();
  const started = useStartedAnswer(conversation, request.request_id);
  const used = useQuestion(request, answer, { started, onRefused: showRefusal });
  const { parts, isRequired, isMissing, isBusy, submit, skip } = used;
  return (
    <section role={role} className="request question" aria-label={words.question}>
      <header>
        <Icon name="question" />
        <h2>{words.asks}</h2>
        <TimeLeft deadline={request.deadline_at} />
      </header>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <div className="asked-for">
          {parts.map((part) => (
            <OneQuestion key={part.question.id} part={part} />
          ))}
        </div>
        {isMissing && (
          <p className="bad" role="alert">
            {words.answerNeeded}
          </p>
        )}
        <div className="choices">
          <button type="submit" className="primary" disabled={isBusy}>
            {words.answer}
          </button>
          {!isRequired && (
            <button type="button" className="quiet" disabled={isBusy} onClick={skip}>
              {words.skip}
            </button>
          )}
        </div>
      </form>
    </section>
  );
}

function OneQuestion({ part }: { part: UsedPart }) {
  const words = useWords();
  const name = useId();
  const { question } = part;
  const options = question.options ?? [];
  return (
    <fieldset>
      <legend>
        {question.header && (
          <span className="tag">
            <VisibleText text={question.header} />
          </span>
        )}
        <span className="question-text">
          <VisibleText text={question.question} />
        </span>
        {question.multi && <span className="muted"> · {words.several}</span>}
      </legend>
      <div className="options">
        {options.map((option) => (
          <label key={option.label} className="option">
            <input
              type={question.multi ? "checkbox" : "radio"}
              name={name}
              checked={part.isChosen(option.label)}
              onChange={(event) => part.choose(option.label, event.target.checked)}
            />
            <span>
              <strong>
                <VisibleText text={option.label} />
              </strong>
              {option.description && (
                <small>
                  <VisibleText text={option.description} />
                </small>
              )}
            </span>
          </label>
        ))}
        {part.takesWords && (
          <input
            type="text"
            className="own"
            value={part.words}
            placeholder={options.length ? words.ownAnswer : words.yourAnswer}
            aria-label={options.length ? words.ownAnswer : question.question}
            onChange={(event) => part.write(event.target.value)}
          />
        )}
      </div>
    </fieldset>
  );
}
