// The card of a tool call: its input, its request, its output and its result.

import type { BlockView, MessageView, ToolView } from "@turnwire/client";
import { ToolCardRoot, type ToolState, toolStateOf } from "@turnwire/react";
import { createContext, Fragment, memo, type ReactNode, useContext, useState } from "react";
import { DownloadButton } from "../app/DownloadButton";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { lookUp } from "../app/lookup";
import { useNameOf } from "../app/me";
import { LongText } from "../markdown/LongText";
import { VisibleText } from "../markdown/VisibleText";
import { outcomeText } from "../requests/outcome";
import { partsOf } from "../requests/requestParts";
import type { Words } from "../words/en";
import { duration } from "../words/numbers";
import { Comparison } from "./Comparison";
import { CommandLine, Fields, Output, Raw, Todos } from "./cardParts";
import { EarlierPlans } from "./EarlierPlans";
import { changesOf } from "./fileChanges";
import { Pictures } from "./Pictures";
import { todosOf } from "./plans";
import { ICONS, type Kind, kindOf, toolTitle } from "./toolKinds";
import {
  formatted,
  isObject,
  listIn,
  numberIn,
  outputText,
  picturesIn,
  rawOutput,
  textIn,
} from "./toolValues";

/** Kinds of cards that are open by default. */
const OPEN = new Set<Kind>(["command", "change", "todo", "agent", "question"]);

/** The card with the newest plan: earlier ones are folded. */
export const NewestPlan = createContext<string | undefined>(undefined);

/** The calls that run in the background. */
export const BackgroundCalls = createContext<ReadonlySet<string>>(new Set());

/** How background tasks ended, by their call. */
export const TaskEnds = createContext<ReadonlyMap<string, { status: string; summary: string | undefined }>>(
  new Map(),
);

interface NestedProps {
  tool: ToolView;
  /** Renders the messages of a sub-agent. */
  nested: (messages: MessageView[]) => ReactNode;
}

interface Props extends NestedProps {
  /** Whether it contains a search result. */
  isSearchHit: boolean;
  /** The versions of a plan before this one. */
  earlier?: readonly BlockView[] | undefined;
}

export const ToolCard = memo(function ToolCard({ tool, nested, isSearchHit, earlier }: Props) {
  const words = useWords();
  const kind = kindOf(tool.tool_name, tool.tool_type);
  const [isOpen, setOpen] = useState<boolean>();
  const newest = useContext(NewestPlan);
  const isOld = kind === "todo" && newest !== undefined && newest !== tool.id;
  // What an open request is about is shown by the request itself, below the timeline.
  const isAskedBelow = tool.request !== undefined && !tool.request.outcome;
  const opens = OPEN.has(kind) && !isOld && !isAskedBelow;
  const open = isOpen ?? (isSearchHit || opens || toolStateOf(tool) === "failed");
  const { name, about } = titleOf(tool, kind, words);
  const isBehind = useContext(BackgroundCalls).has(tool.id);
  // The command and the fields are shown below, in the card or in the request, so not here.
  const isShownBelow =
    (open || isAskedBelow) && (about === textIn(tool.input, "command") || hasFields(tool, kind));
  return (
    <ToolCardRoot
      className={`card tool ${kind}`}
      tool={tool}
      isInBackground={isBehind}
      isOpen={open}
      setOpen={setOpen}
      summary={
        <>
          <Icon name={ICONS[kind]} />
          <span className="name">
            <VisibleText text={name} />
          </span>
          <span className="about">
            <VisibleText text={isShownBelow ? "" : about.slice(0, 300)} />
          </span>
          <State tool={tool} kind={kind} state={toolStateOf(tool, isBehind)} />
          <Icon name="chevron" />
        </>
      }
    >
      {() => (
        <div className="body">
          <Body tool={tool} kind={kind} />
          <EarlierPlans blocks={earlier} />
          <Nested tool={tool} nested={nested} />
          <Ending tool={tool} kind={kind} />
        </div>
      )}
    </ToolCardRoot>
  );
});

export function titleOf(tool: ToolView, kind: Kind, words: Words): { name: string; about: string } {
  const name = toolTitle(tool.tool_name, words, tool.tool_type);
  return { name, about: aboutOf(tool, kind, words) };
}

export function aboutOf(tool: ToolView, kind: Kind, words: Words): string {
  const { input } = tool;
  switch (kind) {
    case "command":
      return textIn(input, "description") ?? textIn(input, "command") ?? "";
    case "change":
    case "read":
      return textIn(input, "file_path", "filePath", "path", "notebook_path", "title") ?? changedPaths(tool);
    case "search":
    case "web":
      return textIn(input, "pattern", "query", "url", "path", "title") ?? "";
    case "agent": {
      const about = textIn(input, "description");
      return [textIn(input, "subagent_type"), about].filter(Boolean).join(": ");
    }
    case "todo": {
      const todos = todosOf(input);
      const done = todos.filter((todo) => todo.status === "completed").length;
      return todos.length ? words.planDone(done, todos.length) : (textIn(input, "subject") ?? "");
    }
    case "question":
      return textIn(input, "header") ?? "";
    default:
      return textIn(input, "description", "query", "path", "url", "name", "title") ?? firstShort(input);
  }
}

/** Returns the first short argument. */
function firstShort(input: unknown): string {
  const values = isObject(input) ? Object.values(input) : [];
  const isShort = (value: unknown) => typeof value !== "object" && /^.{1,60}$/.test(String(value).trim());
  return String(values.find(isShort) ?? "").trim();
}

/** Whether the card shows its input by the names of the fields. */
export function hasFields({ input }: ToolView, kind: Kind): boolean {
  if (!isObject(input)) return false;
  const least = kind === "raw" || kind === "mcp" ? 1 : 2;
  return ["raw", "mcp", "read", "search", "web"].includes(kind) && Object.keys(input).length >= least;
}

/** Returns the names of the files that a call changes. */
function changedPaths({ input, result }: ToolView): string {
  const files = changesOf(input, result?.details).map(({ path }) => path.split("/").pop() ?? "");
  return files.filter(Boolean).join(", ");
}

function State({ tool, kind, state }: { tool: ToolView; kind: Kind; state: ToolState }) {
  const words = useWords();
  const end = useContext(TaskEnds).get(tool.id);
  if (end && end.status !== "completed" && (state === "done" || state === "failed")) {
    const isBad = end.status === "failed";
    return (
      <span className={`state ${isBad ? "bad" : ""}`}>
        <Icon name={isBad ? "cross" : "stop"} /> {lookUp(words.task.ended, end.status) ?? end.status}
      </span>
    );
  }
  switch (state) {
    case "background":
      return (
        <span className="state runs">
          <span className="spinner" aria-hidden="true" /> {words.inBackground}
        </span>
      );
    case "denied":
    case "cancelled":
    case "expired":
      return (
        <span className="state">
          <Icon name="shield" /> {state === "denied" ? words.denied : words.outcome[state]}
        </span>
      );
    case "done":
    case "failed": {
      const isBad = state === "failed";
      const code = kind === "command" ? exitCode(tool) : undefined;
      const said = code !== undefined ? words.exitCode(code) : isBad ? words.failed : words.done;
      return (
        <span className={`state ${isBad ? "bad" : "good"}`}>
          <Icon name={isBad ? "cross" : "check"} />
          <span className={code !== undefined || isBad ? "" : "hidden"}>{said}</span>
        </span>
      );
    }
    case "waiting": {
      const isQuestion = tool.request?.kind === "question";
      return (
        <span className="state waits">
          <Icon name={isQuestion ? "question" : "shield"} />{" "}
          {isQuestion ? words.needsAnswer : words.needsPermission}
        </span>
      );
    }
    case "interrupted":
      return <span className="state bad">{words.interruptedBlock}</span>;
    case "running":
      return (
        <span className="state runs">
          <span className="spinner" aria-hidden="true" />
          <span className="hidden">{words.runs}</span>
          {tool.elapsed_seconds !== undefined && duration(tool.elapsed_seconds * 1000)}
        </span>
      );
  }
}

/** Whether the call did not get its permission: then its result is no output. */
function wasRefused(tool: ToolView): boolean {
  return ["denied", "cancelled", "expired"].includes(toolStateOf(tool));
}

function exitCode(tool: ToolView): number | undefined {
  const told = numberIn(tool.result?.details, "exit_code", "exitCode");
  if (told !== undefined || !tool.result?.is_error) return told;
  const said = /^(?:Exit code|exit status) (\d+)/i.exec(outputText(tool.result.content));
  return said ? Number(said[1]) : undefined;
}

function Body({ tool, kind }: { tool: ToolView; kind: Kind }) {
  const words = useWords();
  const { input } = tool;
  if (input === undefined || input === null) {
    // An incomplete list or question is not readable.
    const isReadable =
      tool.status === "complete" || kind === "command" || kind === "change" || kind === "raw";
    return tool.input_text && isReadable ? <Raw value={tool.input_text} /> : null;
  }
  switch (kind) {
    case "command": {
      const command = textIn(input, "command", "cmd");
      return command ? <CommandLine command={command} /> : <Fields value={input} />;
    }
    case "change": {
      const changes = changesOf(input, tool.result?.details);
      if (!changes.length) return <Fields value={input} />;
      return changes.map((change, at) => <Comparison key={at} change={change} />);
    }
    case "todo": {
      const todos = todosOf(input);
      return todos.length ? <Todos todos={todos} /> : <Fields value={input} />;
    }
    case "agent": {
      const prompt = textIn(input, "prompt");
      if (!prompt) return <Fields value={input} />;
      return (
        <LongText text={prompt} most={5_000}>
          {(shown) => (
            <p className="task-prompt">
              <VisibleText text={shown} />
            </p>
          )}
        </LongText>
      );
    }
    case "question":
      return <Asked tool={tool} />;
    default:
      // The only argument of one of the other kinds is in the line above.
      if (isObject(input) && !hasFields(tool, kind)) return null;
      return <Fields value={input} label={words.input} />;
  }
}

/** A question, its options and its answer. */
function Asked({ tool }: { tool: ToolView }) {
  const words = useWords();
  const several = listIn(tool.input, "questions");
  const questions = (several.length ? several : [tool.input]).flatMap((each) => {
    const question = textIn(each, "question");
    // An answer is found by the question's id. Claude's questions have none: their text is the id.
    return question
      ? [{ question, id: textIn(each, "id") ?? question, options: listIn(each, "options") }]
      : [];
  });
  const nameOf = useNameOf();
  const { request } = tool;
  const given = request?.answer;
  const isAnswered = textsIn(given).length > 0;
  const told = request?.outcome && outcomeText(request, words, nameOf);
  const isByPerson = request?.outcome === "answered";
  const name = given === undefined ? undefined : isByPerson ? request.by && nameOf(request.by) : told;
  /** An answer in own words; the list of the options shows the others. */
  const ownWords = (answer: unknown, options: unknown[]) => {
    const labels = options.map(labelOf);
    const texts = textsIn(answer);
    const own = options.length
      ? texts.filter((each) => !labels.includes(each)).join(", ")
      : answerText(answer);
    if (!own && texts.length) return null;
    return (
      <p className="answered">
        <VisibleText text={own || words.skipped} />
        {name && !isAnswered && (
          <span className="muted">
            {" — "}
            <VisibleText text={name} />
          </span>
        )}
      </p>
    );
  };
  // Of several questions each shows its own answer.
  const isEach = questions.length > 1 && isObject(given);
  return (
    <>
      {questions.map(({ question, id, options }) => {
        const own = isEach ? given[id] : given;
        return (
          <Fragment key={id}>
            <p className="asked">
              <VisibleText text={question} />
            </p>
            {request?.outcome && <Offered options={options} chosen={textsIn(own)} />}
            {isEach && ownWords(own, options)}
          </Fragment>
        );
      })}
      {told &&
        given !== undefined &&
        !isEach &&
        ownWords(
          given,
          questions.flatMap(({ options }) => options),
        )}
      {told && given === undefined && (
        <p className="answered">
          <VisibleText text={told} />
        </p>
      )}
      {name && isAnswered && (
        <p className="decided">
          <VisibleText text={isByPerson ? words.answeredBy(name) : name} />
        </p>
      )}
    </>
  );
}

/** The options of an answered question. */
function Offered({ options, chosen }: { options: unknown[]; chosen: string[] }) {
  const words = useWords();
  if (!options.length) return null;
  return (
    <ul className="offered" aria-label={words.options}>
      {options.map((option, at) => {
        const label = labelOf(option);
        const about = textIn(option, "description");
        const isChosen = chosen.includes(label);
        return (
          <li key={at} className={isChosen ? "chosen" : undefined}>
            <span className="mark">{isChosen && <Icon name="check" />}</span>
            <span>
              <VisibleText text={label} />
              {isChosen && <span className="hidden"> ({words.chosen})</span>}
              {about && (
                <small>
                  <VisibleText text={about} />
                </small>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

function labelOf(option: unknown): string {
  return typeof option === "string" ? option : (textIn(option, "label") ?? "");
}

/** Returns every text in an answer. */
function textsIn(answer: unknown): string[] {
  if (typeof answer === "string") return answer ? [answer] : [];
  return isObject(answer) || Array.isArray(answer) ? Object.values(answer).flatMap(textsIn) : [];
}

function answerText(answer: unknown): string {
  if (typeof answer === "string") return answer;
  if (Array.isArray(answer)) return answer.map(answerText).join(", ");
  if (typeof answer === "object" && answer) return Object.values(answer).map(answerText).join(" · ");
  return answer === undefined ? "" : formatted(answer);
}

/** The messages of a sub-agent, without its prompt. */
function Nested({ tool, nested }: NestedProps) {
  const prompt = textIn(tool.input, "prompt");
  const said = tool.messages?.filter((message) => {
    const [block] = message.blocks;
    return message.role !== "user" || block?.type !== "text" || block.text !== prompt;
  });
  return said?.length ? <div className="nested">{nested(said)}</div> : null;
}

/** Whether the card shows the content of the result, which nothing else in it shows. */
export function showsResult(tool: ToolView, kind: Kind): boolean {
  if (!tool.result || wasRefused(tool)) return false;
  if (toolStateOf(tool) === "failed") return true;
  return kind === "agent" ? !tool.messages?.length : !["todo", "question", "change"].includes(kind);
}

/** The input that ran instead: only the changed parts. */
function Instead({ tool, updated }: { tool: ToolView; updated: unknown }) {
  const words = useWords();
  const { command, changes, rest } = partsOf(tool.tool_name, updated);
  const before = isObject(tool.input) ? tool.input : {};
  const isOther = ([name, value]: [string, unknown]) => formatted(value) !== formatted(before[name]);
  const others = isObject(rest) ? Object.fromEntries(Object.entries(rest).filter(isOther)) : rest;
  return (
    <>
      <p className="label">{words.ranInstead}</p>
      {command !== undefined && <CommandLine command={command} />}
      {changes.map((change, at) => (
        <Comparison key={at} change={change} />
      ))}
      <Fields value={others} />
    </>
  );
}

/** The result. */
function Ending({ tool, kind }: { tool: ToolView; kind: Kind }) {
  const words = useWords();
  const nameOf = useNameOf();
  const { request, result, output } = tool;
  const decided = request?.kind === "permission" && request.outcome ? request : undefined;
  return (
    <>
      {decided && (
        <p className="decided">
          <Icon name="shield" />
          <VisibleText text={outcomeText(decided, words, nameOf)} />
          {decided.reason && (
            <q>
              <VisibleText text={decided.reason} />
            </q>
          )}
        </p>
      )}
      {decided?.updated_input !== undefined && decided?.updated_input !== null && (
        <Instead tool={tool} updated={decided.updated_input} />
      )}
      {output && <Output text={rawOutput(output)} isLive />}
      {hasFields(tool, kind) && showsResult(tool, kind) && outputText(result?.content).trim() && (
        <p className="label">{words.result}</p>
      )}
      {showsResult(tool, kind) && (
        <Output text={rawOutput(result?.content)} isError={result?.is_error === true} />
      )}
      {result && <Pictures pictures={picturesIn(result.content)} />}
      {result?.blob && <DownloadButton blobId={result.blob.blob_id} label={words.wholeOutput} />}
    </>
  );
}
