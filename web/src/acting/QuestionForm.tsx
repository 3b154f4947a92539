// A question of the agent's, as a form.

import type { OpenRequest, Question } from "@turnwire/client";
import { useEffect, useId, useState } from "react";
import { Icon } from "../app/Icon";
import { known } from "../app/lookup";
import { useWords } from "../app/words";
import { Unseen } from "../markdown/Unseen";
import { textIn } from "../tools/reading";
import { TimeLeft } from "./TimeLeft";

export type Answer = string | Record<string, string | string[]>;

interface Props {
  request: OpenRequest;
  /** A `group` where there are several: landmarks have to be told apart. */
  role?: "group";
  /** Undefined if it was refused. */
  answer: (answer: Answer) => Promise<unknown>;
}

interface Chosen {
  options: string[];
  own: string;
}

/** Answers that were begun, by their requests: whoever looks elsewhere finds them again. */
const begun = new Map<string, Record<string, Chosen>>();

export function QuestionForm({ request, role, answer }: Props) {
  const words = useWords();
  const questions = questionsOf(request);
  const isRequired = request.required !== false;
  const [chosen, setChosen] = useState(() => begun.get(request.request_id) ?? {});
  useEffect(() => {
    if (Object.keys(chosen).length) begun.set(request.request_id, chosen);
  }, [request.request_id, chosen]);
  const [isBusy, setBusy] = useState(false);
  const [isMissing, setMissing] = useState(false);
  const chosenFor = (question: Question) => known(chosen, question.id) ?? { options: [], own: "" };
  const answerTo = (question: Question): string | string[] => {
    const { options, own } = chosenFor(question);
    const all = own.trim() ? [...options, own.trim()] : options;
    return question.multi ? all : (all.at(-1) ?? "");
  };
  const submit = async (given: Answer) => {
    setBusy(true);
    try {
      if ((await answer(given)) !== undefined) begun.delete(request.request_id);
    } finally {
      setBusy(false);
    }
  };
  const send = () => {
    const values = questions.map((question) => [question.id, answerTo(question)] as const);
    if (isRequired && values.some(([, value]) => !value.length)) return setMissing(true);
    const only = values.length === 1 ? values[0]?.[1] : undefined;
    void submit(typeof only === "string" ? only : Object.fromEntries(values));
  };
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
          send();
        }}
      >
        <div className="asked-for">
          {questions.map((question) => (
            <OneQuestion
              key={question.id}
              question={question}
              chosen={chosenFor(question)}
              choose={(to) => {
                setMissing(false);
                setChosen((now) => ({ ...now, [question.id]: to }));
              }}
            />
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
            <button type="button" className="quiet" disabled={isBusy} onClick={() => void submit("")}>
              {words.skip}
            </button>
          )}
        </div>
      </form>
    </section>
  );
}

function OneQuestion({
  question,
  chosen,
  choose,
}: {
  question: Question;
  chosen: Chosen;
  choose: (to: Chosen) => void;
}) {
  const words = useWords();
  const name = useId();
  const options = question.options ?? [];
  const hasOwn = question.free_text !== false || !options.length;
  const toggle = (label: string, isOn: boolean) => {
    if (!question.multi) return choose({ options: [label], own: "" });
    const rest = chosen.options.filter((each) => each !== label);
    choose({ ...chosen, options: isOn ? [...rest, label] : rest });
  };
  return (
    <fieldset>
      <legend>
        {question.header && (
          <span className="tag">
            <Unseen text={question.header} />
          </span>
        )}
        <span className="question-text">
          <Unseen text={question.question} />
        </span>
        {question.multi && <span className="muted"> · {words.several}</span>}
      </legend>
      <div className="options">
        {options.map((option) => (
          <label key={option.label} className="option">
            <input
              type={question.multi ? "checkbox" : "radio"}
              name={name}
              checked={chosen.options.includes(option.label)}
              onChange={(event) => toggle(option.label, event.target.checked)}
            />
            <span>
              <strong>
                <Unseen text={option.label} />
              </strong>
              {option.description && (
                <small>
                  <Unseen text={option.description} />
                </small>
              )}
            </span>
          </label>
        ))}
        {hasOwn && (
          <input
            type="text"
            className="own"
            value={chosen.own}
            placeholder={options.length ? words.ownAnswer : words.yourAnswer}
            aria-label={options.length ? words.ownAnswer : question.question}
            onChange={(event) =>
              choose({ options: question.multi ? chosen.options : [], own: event.target.value })
            }
          />
        )}
      </div>
    </fieldset>
  );
}

function questionsOf(request: OpenRequest): Question[] {
  if (request.questions?.length) return request.questions;
  return [
    {
      id: request.request_id,
      question: textIn(request.input, "question", "prompt") ?? request.tool_name,
      free_text: true,
    },
  ];
}
