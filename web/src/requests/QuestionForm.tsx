// A question of the agent, as a form.

import type { OpenRequest, Question } from "@turnwire/client";
import { useId, useState } from "react";
import { store } from "../app/browserStorage";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { lookUp } from "../app/lookup";
import { readStartedText, startedTextName } from "../composer/drafts";
import { VisibleText } from "../markdown/VisibleText";
import { isObject, textIn } from "../tools/toolValues";
import { TimeLeft } from "./TimeLeft";

export type Answer = string | Record<string, string | string[]>;

interface Props {
  /** The conversation of the question. */
  conversation: string;
  request: OpenRequest;
  /** A `group` if there are several, because landmarks must have different names. */
  role?: "group";
  /** Undefined if it was refused. */
  answer: (answer: Answer) => Promise<unknown>;
}

interface Chosen {
  options: string[];
  own: string;
}

export function QuestionForm({ conversation, request, role, answer }: Props) {
  const words = useWords();
  const questions = questionsOf(request);
  const isRequired = request.required !== false;
  // A started answer survives a reload of the page.
  const name = startedTextName("answer", conversation, request.request_id);
  const [chosen, setChosen] = useState(() => chosenIn(readStartedText(name)));
  const choose = (question: Question, to: Chosen) => {
    setMissing(false);
    const now = { ...chosen, [question.id]: to };
    setChosen(now);
    store(name, JSON.stringify(now));
  };
  const [isBusy, setBusy] = useState(false);
  const [isMissing, setMissing] = useState(false);
  const chosenFor = (question: Question) => lookUp(chosen, question.id) ?? { options: [], own: "" };
  const answerTo = (question: Question): string | string[] => {
    const { options, own } = chosenFor(question);
    const all = own.trim() ? [...options, own.trim()] : options;
    return question.multi ? all : (all.at(-1) ?? "");
  };
  const submit = async (given: Answer) => {
    setBusy(true);
    try {
      if ((await answer(given)) !== undefined) store(name, null);
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
              choose={(to) => choose(question, to)}
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
              checked={chosen.options.includes(option.label)}
              onChange={(event) => toggle(option.label, event.target.checked)}
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

/** Reads a stored answer. Ignores invalid parts. */
function chosenIn(kept: unknown): Record<string, Chosen> {
  if (!isObject(kept)) return {};
  const all = Object.entries(kept).flatMap(([id, each]): [string, Chosen][] => {
    if (!isObject(each) || !Array.isArray(each.options)) return [];
    const options = each.options.filter((option) => typeof option === "string");
    return [[id, { options, own: textIn(each, "own") ?? "" }]];
  });
  return Object.fromEntries(all);
}
