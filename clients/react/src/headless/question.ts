// The questions of a request without their looks: what is chosen, what is missing, and what is sent.

import type { Question as AskedQuestion, OpenRequest, QuestionAnswer } from "@turnwire/client";
import { useState } from "react";
import { type Action, type OnRefused, useAction } from "./action.js";
import { isObject, textIn } from "./json.js";
import type { StartedReply } from "./started_reply.js";

export type Answer = (questionId: string, answer: QuestionAnswer["answer"]) => Promise<unknown>;

export interface QuestionOptions {
  onRefused?: OnRefused | undefined;
  started?: StartedReply | undefined;
}

/** One question of a request, and what the person has chosen so far. */
export interface UsedPart {
  readonly question: AskedQuestion;
  readonly isChosen: (label: string) => boolean;
  /** Chooses an option, or of a question with several answers also takes it back. */
  readonly choose: (label: string, isOn?: boolean) => void;
  /** Whether it takes an answer in the person's own words. */
  readonly takesWords: boolean;
  /** The person's own words. They replace the chosen option, or are added to several. */
  readonly words: string;
  readonly write: (words: string) => void;
}

export interface UsedQuestion extends Omit<Action, "run"> {
  readonly parts: readonly UsedPart[];
  readonly isRequired: boolean;
  /** Whether the person tried to send while an answer that is required was missing. */
  readonly isMissing: boolean;
  /** Sends what is chosen, or this answer. */
  readonly submit: (answer?: string) => void;
  /** Sends an empty answer, which a request takes that is not required. */
  readonly skip: () => void;
}

interface Chosen {
  options: string[];
  own: string;
}

const NOTHING: Chosen = { options: [], own: "" };

export function useQuestion(
  request: OpenRequest,
  answer: Answer,
  { onRefused, started }: QuestionOptions = {},
): UsedQuestion {
  const [chosen, setChosen] = useState(() => chosenIn(started?.read()));
  const [isMissing, setMissing] = useState(false);
  const { run, isBusy, refusal } = useAction(onRefused);
  const questions = questionsOf(request);
  const isRequired = request.required !== false;
  const chosenFor = ({ id }: AskedQuestion) => chosen.get(id) ?? NOTHING;
  const partOf = (question: AskedQuestion): UsedPart => {
    const { options, own } = chosenFor(question);
    const set = (to: Chosen) => {
      const now = new Map(chosen).set(question.id, to);
      setMissing(false);
      setChosen(now);
      started?.write(Object.fromEntries(now));
    };
    return {
      question,
      isChosen: (label) => options.includes(label),
      choose: (label, isOn = true) => {
        if (!question.multi) return set({ options: [label], own: "" });
        const rest = options.filter((each) => each !== label);
        set({ options: isOn ? [...rest, label] : rest, own });
      },
      takesWords: question.free_text !== false || !question.options?.length,
      words: own,
      write: (words) => set({ options: question.multi ? options : [], own: words }),
    };
  };
  const send = async (given: QuestionAnswer["answer"]) => {
    if (await run(() => answer(request.request_id, given))) started?.write(undefined);
  };
  return {
    parts: questions.map(partOf),
    isRequired,
    isMissing,
    isBusy,
    refusal,
    submit: (given) => {
      if (given !== undefined) return void send(given);
      const values = questions.map(
        (question) => [question.id, answerTo(question, chosenFor(question))] as const,
      );
      if (isRequired && values.some(([, value]) => !value.length)) return setMissing(true);
      const only = values.length === 1 ? values[0]?.[1] : undefined;
      void send(typeof only === "string" ? only : Object.fromEntries(values));
    },
    skip: () => void send(""),
  };
}

function answerTo({ multi }: AskedQuestion, { options, own }: Chosen): string | string[] {
  const all = own.trim() ? [...options, own.trim()] : options;
  return multi ? all : (all.at(-1) ?? "");
}

/** Returns the questions of a request. An agent may have sent only an input. */
function questionsOf({ request_id, questions, input, tool_name }: OpenRequest): AskedQuestion[] {
  if (questions?.length) return questions;
  return [{ id: request_id, question: textIn(input, "question", "prompt") ?? tool_name, free_text: true }];
}

/** Reads a stored answer. Ignores invalid parts. */
function chosenIn(stored: unknown): ReadonlyMap<string, Chosen> {
  const all = Object.entries(isObject(stored) ? stored : {}).flatMap(([id, each]): [string, Chosen][] => {
    if (!isObject(each) || !Array.isArray(each.options)) return [];
    const options = each.options.filter((option) => typeof option === "string");
    return [[id, { options, own: textIn(each, "own") ?? "" }]];
  });
  return new Map(all);
}
