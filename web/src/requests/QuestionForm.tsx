// A question of the agent, as a form.

import type { OpenRequest } from "@turnwire/client";
import {
  type Answer,
  QuestionMissing,
  QuestionOption,
  QuestionOwnAnswer,
  QuestionRoot,
  QuestionSkip,
  QuestionSubmit,
  type UsedPart,
  useQuestion,
} from "@turnwire/react";
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
  const question = useQuestion(request, answer, { started, onRefused: showRefusal });
  return (
    <section role={role} className="request question" aria-label={words.question}>
      <header>
        <Icon name="question" />
        <h2>{words.asks}</h2>
        <TimeLeft deadline={request.deadline_at} />
      </header>
      <QuestionRoot question={question}>
        <div className="asked-for">
          {question.parts.map((part) => (
            <OneQuestion key={part.question.id} part={part} />
          ))}
        </div>
        <QuestionMissing className="bad" />
        <div className="choices">
          <QuestionSubmit className="primary" />
          <QuestionSkip className="quiet" />
        </div>
      </QuestionRoot>
    </section>
  );
}

function OneQuestion({ part }: { part: UsedPart }) {
  const words = useWords();
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
          <QuestionOption key={option.label} part={part} value={option.label} className="option">
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
          </QuestionOption>
        ))}
        <QuestionOwnAnswer
          part={part}
          className="own"
          placeholder={options.length ? words.ownAnswer : words.yourAnswer}
          aria-label={options.length ? words.ownAnswer : question.question}
        />
      </div>
    </fieldset>
  );
}
