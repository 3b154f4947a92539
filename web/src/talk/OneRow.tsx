// Renders one row.

import type { MessageView, TextView, ThinkingView, TurnView } from "@turnwire/client";
import { CustomBlock as Block, type BlockRenderers, MessageBlocks, MessageRoot } from "@turnwire/react";
import { memo, useCallback, useContext, useMemo, useState } from "react";
import { DownloadButton } from "../app/DownloadButton";
import { isTouch } from "../app/focus";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { lookUp } from "../app/lookup";
import { useNameOf } from "../app/me";
import { LongText } from "../markdown/LongText";
import { Markdown } from "../markdown/Markdown";
import { VisibleText } from "../markdown/VisibleText";
import { answerParts, markupParts } from "../tools/agentMarkup";
import { Output, Raw, Reminder } from "../tools/cardParts";
import { OtherCard } from "../tools/OtherCard";
import { ToolCard, titleOf } from "../tools/ToolCard";
import { kindOf } from "../tools/toolKinds";
import { isObject, listIn, textIn } from "../tools/toolValues";
import type { Words } from "../words/en";
import { count, duration, money } from "../words/numbers";
import { dayOf } from "../words/times";
import { AgentMark, PersonMark } from "./AgentMark";
import { eventText } from "./eventText";
import { Files } from "./FileNames";
import { type MessageActions, RowActions, Time, TurnActions } from "./MessageActions";
import { RetryTurn } from "./retry";
import { type Row, rowsOf } from "./rows";
import { SearchHit } from "./searchHit";

interface Props {
  row: Row;
  actions?: MessageActions | undefined;
}

export const OneRow = memo(function OneRow({ row, actions }: Props) {
  const words = useWords();
  const tapped = isTouch() ? -1 : undefined; // a tap focuses the row, which shows its buttons
  if (row.kind === "day")
    return (
      <div className="day">
        <time dateTime={row.at}>{dayOf(row.at, words)}</time>
      </div>
    );
  if (row.kind === "turn") return <TurnEnding row={row} actions={actions} />;
  const hasButtons = row.kind !== "block" || !row.isAboveEnd;
  const buttons = actions && hasButtons && <RowActions row={row} actions={actions} />;
  switch (row.kind) {
    case "said":
      return (
        <MessageRoot
          message={row.message}
          className={`row said${row.message.origin ? " by-agent" : ""}`}
          aria-label={words.you}
          tabIndex={tapped}
        >
          {row.message.origin === undefined && <PersonMark />}
          <Said message={row.message} />
          {buttons}
        </MessageRoot>
      );
    case "event":
      return (
        <div className="row happened" tabIndex={tapped}>
          <Happened row={row} />
          {buttons}
        </div>
      );
    case "block":
      return (
        <MessageRoot
          message={row.message}
          className={`row ${row.block.type}${row.isFirst ? " first" : ""}`}
          aria-label={labelOf(row, words)}
          tabIndex={tapped}
        >
          {row.mark !== undefined && <AgentMark name={row.mark} isTold={row.speaker !== undefined} />}
          {row.message.error && row.isFirst ? <p className="bad">{words.apiFailed}</p> : null}
          <OneBlock row={row} actions={actions} />
          {buttons}
        </MessageRoot>
      );
  }
});

/** Returns the accessible name. */
function labelOf({ block }: Row & { kind: "block" }, words: Words): string {
  if (block.type === "thinking") return words.thoughts;
  if (block.type === "block") return words.tool.raw;
  if (block.type !== "tool") return words.agent;
  const { name, about } = titleOf(block, kindOf(block.tool_name, block.tool_type), words);
  return about ? `${name}: ${about.slice(0, 80)}` : name;
}

interface BlockProps {
  row: Row & { kind: "block" };
  actions: MessageActions | undefined;
}

function OneBlock({ row, actions }: BlockProps) {
  const { block } = row;
  /** The messages of a sub-agent, below its tool call. */
  const nestedRows = useCallback(
    (messages: MessageView[]) => <Nested messages={messages} actions={actions} />,
    [actions],
  );
  const sought = useContext(SearchHit);
  const isSearchHit = sought !== undefined && (sought.row === row.key || sought.inner === row.key);
  const { took, earlier, isStopTold = false } = row;
  const render = useMemo<BlockRenderers>(
    () => ({
      text: (_, text) => <Text block={text} isStopTold={isStopTold} />,
      thinking: (thinking) => <Thinking block={thinking} told={took} isSearchHit={isSearchHit} />,
      tool: (tool) => (
        <ToolCard tool={tool} nested={nestedRows} isSearchHit={isSearchHit} earlier={earlier} />
      ),
      event: () => null, // a row of its own
      other: (other) => <OtherCard view={other} earlier={earlier} />,
    }),
    [took, earlier, isStopTold, isSearchHit, nestedRows],
  );
  return <Block block={block} render={render} />;
}

interface NestedProps {
  messages: MessageView[];
  actions: MessageActions | undefined;
}

function Nested({ messages, actions }: NestedProps) {
  const sought = useContext(SearchHit);
  // The messages of a sub-agent can be read, not edited.
  const own = useMemo(() => actions && { inspect: actions.inspect, addressOf: actions.addressOf }, [actions]);
  return rowsOf({ messages, turns: [] }).map((row) => (
    <div key={row.key} className={row.key === sought?.inner ? "sought-inner" : undefined}>
      <OneRow row={row} actions={own} />
    </div>
  ));
}

/** Replaces the blocks of a person's message. */
const SAID: BlockRenderers = {
  text: (text) => <SaidText text={text} />,
  thinking: () => null,
  tool: () => null,
  event: () => null,
  other: (other) => <OtherCard view={other} />,
};

function Said({ message }: { message: MessageView }) {
  const words = useWords();
  return (
    <div className="bubble" dir="auto">
      <MessageBlocks message={message} render={SAID} />
      {message.steered && <span className="muted">{words.isSteered}</span>}
    </div>
  );
}

/** The text of a person, or what an agent has put there in their name. */
function SaidText({ text }: { text: string }) {
  return markupParts(text).map((part, at) =>
    part.kind === "text" ? (
      <LongText key={at} text={part.text} most={5_000}>
        {(shown) => (
          <p>
            <VisibleText text={shown} />
          </p>
        )}
      </LongText>
    ) : part.kind === "command" ? (
      <p key={at}>
        <code>
          <VisibleText text={part.text} />
        </code>
      </p>
    ) : part.kind === "file" ? (
      <details key={at} className="reminder file">
        <summary>
          <Icon name="file" /> <VisibleText text={part.name ?? ""} />
        </summary>
        <pre tabIndex={0}>
          <VisibleText text={part.text} />
        </pre>
      </details>
    ) : part.kind === "reminder" ? (
      <Reminder key={at} text={part.text} />
    ) : (
      <Output key={at} text={part.text} isError={part.kind === "error"} />
    ),
  );
}

function Text({ block, isStopTold }: { block: TextView; isStopTold: boolean }) {
  const words = useWords();
  const parts = answerParts(block.text);
  return (
    <>
      {parts.map(({ kind, text }, at) =>
        kind === "reminder" ? (
          <Reminder key={at} text={text} />
        ) : (
          <Markdown
            key={at}
            text={text}
            isGrowing={block.status === "streaming" && at === parts.length - 1}
          />
        ),
      )}
      {block.status === "frozen" && <span className="muted">{words.pieceMissing}</span>}
      {block.status === "aborted" && !isStopTold && (
        <span className="muted cut">{words.interruptedBlock}</span>
      )}
      {block.blob && <DownloadButton blobId={block.blob.blob_id} label={words.wholeText} />}
    </>
  );
}

/** Milliseconds. Shorter durations say nothing. */
const SHORTEST = 1000;

/** The duration of thinking that this page has seen, if the log does not have it. */
const seen = new Map<string, number>();

function useSeen({ id, status }: ThinkingView): number | undefined {
  const [began] = useState(() => (status === "streaming" ? performance.now() : undefined));
  if (began !== undefined && status !== "streaming" && !seen.has(id)) seen.set(id, performance.now() - began);
  return seen.get(id);
}

interface ThinkingProps {
  block: ThinkingView;
  told: number | undefined;
  isSearchHit: boolean;
}

function Thinking({ block, told, isSearchHit }: ThinkingProps) {
  const words = useWords();
  const [isSet, setOpen] = useState<boolean>();
  const isOpen = isSet ?? isSearchHit;
  const isGrowing = block.status === "streaming";
  const took = useSeen(block) ?? told;
  return (
    <details className="thoughts" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Icon name="chevron" />
        {isGrowing ? (
          <span className="shimmer">{words.thinking}</span>
        ) : (
          words.thought(took === undefined || took < SHORTEST ? undefined : duration(took))
        )}
      </summary>
      {isOpen &&
        (block.redacted ? (
          <p className="muted">{words.redacted}</p>
        ) : (
          <Markdown text={block.text} isGrowing={isGrowing} />
        ))}
    </details>
  );
}

/** The number of files that are shown at first. */
const FEW = 8;

function Happened({ row }: { row: Row & { kind: "event" } }) {
  const words = useWords();
  const nameOf = useNameOf();
  const { name, subtype, data } = row.block;
  if (subtype === "rewind") {
    const files = listIn(data, "files").map(String);
    const failed = listIn(data, "failed").map(String);
    return (
      <details className="event" open={failed.length > 0 || (files.length > 0 && files.length <= FEW)}>
        <summary>
          <Icon name="rewind" />
          <VisibleText text={eventText(row.block, words, nameOf)} />
        </summary>
        {files.length > 0 && <Files files={files} />}
        {failed.length > 0 && (
          <>
            <p className="bad">{words.rewind.failed}</p>
            <Files files={failed} />
          </>
        )}
      </details>
    );
  }
  if (name !== "interrupted") {
    return (
      <details className="event">
        <summary>
          <VisibleText text={eventText(row.block, words, nameOf)} />
        </summary>
        <pre tabIndex={0}>
          <VisibleText text={JSON.stringify(data, null, 2) ?? ""} />
        </pre>
      </details>
    );
  }
  const processes = listIn(data, "processes");
  const left = processes.filter((each) => isObject(each) && each.left === true).length;
  const came = isObject(data) ? data : {};
  const [by, reason] = [textIn(data, "by"), textIn(data, "reason")];
  const outcome =
    came.forced === true
      ? words.byForce(processes.length - left)
      : came.lost === true
        ? words.killed
        : undefined;
  return (
    <p className="receipt">
      <Icon name="stop" />
      {by && reason === "user" ? (
        <VisibleText text={words.stoppedBy(nameOf(by))} />
      ) : (
        (lookUp(words.stoppedBecause, reason) ?? reason)
      )}
      {outcome && ` · ${outcome}`}
      {left > 0 && ` · ${words.couldNotEnd(left)}`}
      {textIn(data, "queue") && ` · ${lookUp(words.queueAfterStop, textIn(data, "queue")) ?? ""}`}
    </p>
  );
}

/** Says why a turn failed; why the server stopped it, in the language of the page. */
function failureText(error: TurnView["end"]["error"], words: Words): string {
  const isStop = error?.code !== "agent_lost"; // the server says which agent, and how
  return (isStop && lookUp(words.stoppedBecause, error?.code)) || error?.message || words.turnFailed;
}

interface EndingProps {
  row: Row & { kind: "turn" };
  actions: MessageActions | undefined;
}

function TurnEnding({ row, actions }: EndingProps) {
  const words = useWords();
  const { turn } = row;
  const { end } = turn;
  const { usage } = end;
  const retry = useContext(RetryTurn);
  const isRetried = retry?.turn === turn.turn_id;
  const read =
    (usage?.input_tokens ?? 0) +
    (usage?.cache_read_input_tokens ?? 0) +
    (usage?.cache_creation_input_tokens ?? 0);
  return (
    <div className="row turn">
      {end.is_error && (
        <div className="card failure" role="note">
          <Icon name="warning" />
          <div>
            <strong>
              <VisibleText text={failureText(end.error, words)} />
            </strong>
            {/* Readers of a share link can do nothing about it. */}
            {actions?.inspect && <p>{lookUp(words.failedHint, end.error?.code) ?? words.failedHint.other}</p>}
            {isRetried && (
              <button type="button" className="small" onClick={retry.run}>
                <Icon name="refresh" /> {words.tryAgain}
              </button>
            )}
          </div>
        </div>
      )}
      {end.structured_output !== undefined && (
        <details className="card structured" open>
          <summary>{words.structured}</summary>
          <div className="body">
            <Raw value={end.structured_output} />
          </div>
        </details>
      )}
      <footer>
        <span className="buttons-of">
          <TurnActions row={row} actions={actions} isRetried={isRetried} />
        </span>
        <Time at={row.last?.message.timestamp} />
        <span className="figures">
          {end.duration_ms !== undefined && end.duration_ms >= SHORTEST && (
            <span>{duration(end.duration_ms)}</span>
          )}
          {usage && read + (usage.output_tokens ?? 0) > 0 && (
            <span title={words.tokensTitle}>
              {words.tokens(count(read), count(usage.output_tokens ?? 0))}
            </span>
          )}
          {end.cost_usd ? <span>{money(end.cost_usd)}</span> : null}
        </span>
      </footer>
    </div>
  );
}
