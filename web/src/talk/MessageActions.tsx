// The buttons of a message: copy, edit, answer again, restore files, link, inspect; and its time.
import type { MessageView } from "@turnwire/client";
import { useState } from "react";
import { CopyButton, toClipboard } from "../app/CopyButton";
import { isTouch } from "../app/focus";
import { Icon, type IconName } from "../app/Icon";
import { useWords } from "../app/language";
import { timeOfDay, wholeTime } from "../words/times";
import { isPrompt, type Row } from "./rows";

/** What a person can do with a message. An absent action is not offered. */
export interface MessageActions {
  inspect?: ((message: MessageView, blockId?: string) => void) | undefined;
  /** Returns the address of a message, or of one block of it. */
  addressOf?: ((message: MessageView, blockId?: string) => Promise<string | undefined>) | undefined;
  /** Puts the message into the composer of a fork. */
  edit?: ((message: MessageView, text: string) => void) | undefined;
  /** Sends the message again, in a fork. */
  regenerate?: ((message: MessageView) => void) | undefined;
  /** Restores the files to their content before a message. */
  restoreFiles?: ((message: MessageView) => void) | undefined;
}

/** The buttons of a row other than the end of a turn. */
export function RowActions({
  row,
  actions,
}: {
  row: Exclude<Row, { kind: "turn" | "day" }>;
  actions: MessageActions;
}) {
  const words = useWords();
  const { message } = row;
  const blockId = row.kind === "said" ? undefined : row.block.id;
  const text = textOf(row);
  const isTheirs = row.kind === "said" && isPrompt(message);
  const { edit, restoreFiles, addressOf, inspect } = actions;
  return (
    // A press must not take the focus from the row: on a touch screen the buttons would disappear.
    <div className="actions" onMouseDown={(event) => isTouch() && event.preventDefault()}>
      <div className="buttons-of">
        {row.kind === "said" && <Time at={message.timestamp} />}
        {text && <CopyButton text={text} />}
        {restoreFiles && isTheirs && (
          <Action icon="rewind" label={words.rewind.open} run={() => restoreFiles(message)} />
        )}
        {edit && isTheirs && (
          <Action icon="pencil" label={words.editAgain} run={() => edit(message, text)} name="edit" />
        )}
        {addressOf && <LinkButton address={() => addressOf(message, blockId)} />}
        {inspect && (
          <Action icon="layers" label={words.inspect} run={() => inspect(message, blockId)} name="layers" />
        )}
      </div>
    </div>
  );
}

interface TurnProps {
  row: Row & { kind: "turn" };
  actions: MessageActions | undefined;
  /** Whether the failed turn is already offered to be tried again. */
  isRetried: boolean;
}

/** The buttons at the end of an answer, or of a turn that failed without one. They are always visible. */
export function TurnActions({ row, actions, isRetried }: TurnProps) {
  const words = useWords();
  const { asked, answer, last, turn } = row;
  const { regenerate, addressOf, inspect } = actions ?? {};
  const text = answer ? answer.block.text : turn.end.error?.message;
  return (
    <>
      {text && <CopyButton text={text} />}
      {asked && regenerate && !isRetried && (
        <Action icon="refresh" label={words.regenerate} run={() => regenerate(asked)} />
      )}
      {last && addressOf && <LinkButton address={() => addressOf(last.message, last.block?.id)} />}
      {last && inspect && (
        <Action icon="layers" label={words.inspect} run={() => inspect(last.message, last.block?.id)} />
      )}
    </>
  );
}

export function Time({ at }: { at: string | undefined }) {
  const words = useWords();
  if (at === undefined) return null;
  return (
    <time dateTime={at} title={wholeTime(at, words)}>
      {timeOfDay(at, words)}
    </time>
  );
}

interface ActionProps {
  icon: IconName;
  label: string;
  run: () => void;
  name?: string;
}

function Action({ icon, label, run, name = "" }: ActionProps) {
  return (
    <button type="button" className={`quiet small ${name}`} aria-label={label} title={label} onClick={run}>
      <Icon name={icon} />
    </button>
  );
}

/** Copies the address of a message. */
function LinkButton({ address }: { address: () => Promise<string | undefined> }) {
  const words = useWords();
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    const text = await address();
    if (text === undefined || !(await toClipboard(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button
      type="button"
      className="quiet small"
      aria-label={words.copyLink}
      title={words.copyLink}
      onClick={() => void copy()}
    >
      <Icon name={isDone ? "check" : "link"} />
      <span aria-live="polite" className="hidden">
        {isDone ? words.copied : ""}
      </span>
    </button>
  );
}

/** Returns the source text of a row, for copying. */
function textOf(row: Row): string {
  if (row.kind === "block" && row.block.type === "text") return row.block.text;
  return row.kind === "said" ? textIn(row.message) : "";
}

/** Returns the text of a message. */
export function textIn({ blocks }: MessageView): string {
  return blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}
