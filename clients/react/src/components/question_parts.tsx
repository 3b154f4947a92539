// The parts of a question, for a page that arranges them itself. The behaviour is that of `useQuestion`.
import {
  type ComponentPropsWithoutRef,
  createContext,
  type ReactElement,
  type ReactNode,
  useContext,
  useId,
} from "react";
import type { UsedPart, UsedQuestion } from "../headless/question.js";
import { useWords } from "./words.js";

const Context = /* @__PURE__ */ createContext<{ question: UsedQuestion; id: string } | undefined>(undefined);

function useCurrent() {
  const current = useContext(Context);
  if (!current) throw new Error("There is no question: put <QuestionRoot> around it.");
  return current;
}

/** Returns what the nearest QuestionRoot was given. */
export function useCurrentQuestion(): UsedQuestion {
  return useCurrent().question;
}

export interface QuestionRootProps extends Omit<ComponentPropsWithoutRef<"form">, "onSubmit"> {
  question: UsedQuestion;
}

/** The form around the parts. */
export function QuestionRoot({ question, ...form }: QuestionRootProps): ReactElement {
  const id = useId();
  return (
    <Context.Provider value={{ question, id }}>
      <form
        data-turnwire="question"
        aria-busy={question.isBusy}
        {...form}
        onSubmit={(event) => {
          event.preventDefault();
          question.submit();
        }}
      />
    </Context.Provider>
  );
}

export interface QuestionOptionProps extends Omit<ComponentPropsWithoutRef<"label">, "onChange" | "part"> {
  part: UsedPart;
  /** The label of the option, which is also its value. */
  value: string;
  /** Shown next to the button of the option; absent: its label. */
  children?: ReactNode;
}

/** One option: a radio button, or a check box if there may be several answers. */
export function QuestionOption({ part, value, children, ...label }: QuestionOptionProps): ReactElement {
  const { question, id } = useCurrent();
  return (
    <label {...label}>
      <input
        type={part.question.multi ? "checkbox" : "radio"}
        name={`${id}-${part.question.id}`}
        value={value}
        disabled={question.isBusy}
        checked={part.isChosen(value)}
        onChange={(event) => part.choose(value, event.target.checked)}
      />
      {children ?? value}
    </label>
  );
}

export interface QuestionOwnAnswerProps
  extends Omit<ComponentPropsWithoutRef<"input">, "type" | "value" | "onChange" | "disabled" | "part"> {
  part: UsedPart;
}

/** The field for an own answer; nothing, if the question takes none. */
export function QuestionOwnAnswer({ part, ...input }: QuestionOwnAnswerProps): ReactNode {
  const words = useWords();
  const { isBusy } = useCurrentQuestion();
  if (!part.takesWords) return null;
  return (
    <input
      type="text"
      aria-label={words.ownAnswer(part.question.question)}
      {...input}
      disabled={isBusy}
      value={part.words}
      onChange={(event) => part.write(event.target.value)}
    />
  );
}

type ButtonProps = Omit<ComponentPropsWithoutRef<"button">, "type" | "onClick" | "disabled">;

/** Sends what is chosen. */
export function QuestionSubmit({ children, ...button }: ButtonProps): ReactElement {
  const words = useWords();
  return (
    <button type="submit" disabled={useCurrentQuestion().isBusy} {...button}>
      {children ?? words.answer}
    </button>
  );
}

/** Sends an empty answer; nothing, if the question requires one. */
export function QuestionSkip({ children, ...button }: ButtonProps): ReactNode {
  const words = useWords();
  const { isRequired, isBusy, skip } = useCurrentQuestion();
  if (isRequired) return null;
  return (
    <button type="button" disabled={isBusy} {...button} onClick={skip}>
      {children ?? words.skip}
    </button>
  );
}

/** Says that an answer is missing, after the person has tried to send. */
export function QuestionMissing(text: Omit<ComponentPropsWithoutRef<"p">, "children">): ReactNode {
  const words = useWords();
  if (!useCurrentQuestion().isMissing) return null;
  return (
    <p role="alert" {...text}>
      {words.answerMissing}
    </p>
  );
}
