// The queued messages.
import type { Content, QueueChange, QueueItem, Status } from "@turnwire/client";
import { useEffect, useState } from "react";
import { isOfThisTab, markTab, readStored, store, storedNames } from "../app/browserStorage";
import { focusComposer, focusComposerIfLost, isTouch } from "../app/focus";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { VisibleText } from "../markdown/VisibleText";
import { readStartedText, returnText, startedTextName } from "./drafts";

interface Props {
  id: string;
  status: Status;
  /** Resolves with undefined if the change is refused. */
  change: (change: QueueChange) => Promise<unknown>;
}

/** A queued message that is being edited. */
interface Edited {
  queue_id: string;
  before: string;
  text: string;
  /** Whether it is stored; a browser may forbid storage. */
  isKept?: boolean;
}

/** Returns a started edit, perhaps from before a reload. */
function editOf(name: string): Edited | undefined {
  const { queue_id, before, text } = readStartedText<Partial<Edited>>(name) ?? {};
  if (typeof queue_id !== "string" || typeof before !== "string" || typeof text !== "string")
    return undefined;
  return { queue_id, before, text, isKept: true };
}

/**
 * Returns the edit that a page opens with: one of this tab, or one whose message has left the
 * queue.
 */
function firstEdit(id: string, queue: readonly QueueItem[]): Edited | undefined {
  const waits = (edit: Edited) => queue.some(({ queue_id }) => queue_id === edit.queue_id);
  for (const name of storedNames(startedTextName("edit", id, ""))) {
    const edit = editOf(name);
    if (edit && (isOfThisTab(name) || !waits(edit))) return edit;
  }
  return undefined;
}

export function Queue({ id, status, change }: Props) {
  const words = useWords();
  const { showNotice } = useNotices();
  const [edited, setEdited] = useState(() => firstEdit(id, status.queue));
  /** Sets the edit, and stores it in the browser for a reload. */
  const setAndKeep = (to: Edited | undefined) => {
    if (edited && edited.queue_id !== to?.queue_id) store(startedTextName("edit", id, edited.queue_id), null);
    if (to === undefined) return setEdited(undefined);
    const name = startedTextName("edit", id, to.queue_id);
    store(name, JSON.stringify(to));
    markTab(name);
    setEdited({ ...to, isKept: readStored(name) !== null });
  };
  const { queue, queue_held } = status;
  const isGone = edited !== undefined && !queue.some((item) => item.queue_id === edited.queue_id);

  // If the message leaves the queue during an edit, the edited text goes back to the composer.
  useEffect(() => {
    if (!isGone) return;
    const name = startedTextName("edit", id, edited.queue_id);
    const isMine = !edited.isKept || readStored(name) !== null; // otherwise another tab has taken the text
    store(name, null);
    setEdited(undefined);
    if (!isMine) return;
    const hasChanged = edited.text.trim() !== "" && edited.text !== edited.before;
    if (hasChanged) returnText(id, edited.text.trim());
    showNotice(hasChanged ? words.editedGone : words.queuedGone, "calm");
    focusComposer();
  }, [isGone, edited, id, showNotice, words]);

  const save = async ({ queue_id, before, text }: Edited) => {
    setAndKeep(undefined);
    focusComposer();
    const content = text.trim();
    if (!content || content === before) return;
    if ((await change({ action: "replace", queue_id, content })) === undefined) returnText(id, content);
  };
  const stopped = status.turn_id !== undefined && !status.running && !status.requests.length;
  if (!queue.length && !stopped) return null;
  return (
    <section className="queue" aria-label={words.queue}>
      <header>
        <span>
          <Icon name="clock" /> {queue.length ? words.queued(queue.length) : words.notBegun}
          {queue_held && <span className="muted"> · {words.held}</span>}
        </span>
        {(queue_held || stopped) && (
          <button type="button" className="small" onClick={() => void change({ action: "resume" })}>
            {words.resume}
          </button>
        )}
      </header>
      <ol>
        {queue.map((item, at) =>
          item.queue_id === edited?.queue_id ? (
            <li key={item.queue_id}>
              <Editing
                text={edited.text}
                write={(text) => setAndKeep({ ...edited, text })}
                save={() => void save(edited)}
                leave={() => {
                  setAndKeep(undefined);
                  focusComposer();
                }}
              />
            </li>
          ) : (
            <Waiting
              key={item.queue_id}
              item={item}
              before={queue[at - 1]}
              after={queue[at + 2]}
              isLast={at === queue.length - 1}
              change={(how) => void change(how).then(focusComposerIfLost)}
              edit={(text) => {
                const kept = editOf(startedTextName("edit", id, item.queue_id)); // an edit in another tab
                setAndKeep(kept ?? { queue_id: item.queue_id, before: text, text });
              }}
            />
          ),
        )}
      </ol>
    </section>
  );
}

interface EditingProps {
  text: string;
  write: (text: string) => void;
  save: () => void;
  leave: () => void;
}

/** Same keys as in the composer: Enter saves, Shift and Enter add a line. */
function Editing({ text, write, save, leave }: EditingProps) {
  const words = useWords();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <textarea
        autoFocus
        dir="auto"
        rows={Math.min(6, text.split("\n").length)}
        value={text}
        aria-label={words.editQueued}
        onChange={(event) => write(event.target.value)}
        onKeyDown={(event) => {
          if (event.nativeEvent.isComposing) return;
          const isDone = event.key === "Enter" && !event.shiftKey && !isTouch();
          if (!isDone && event.key !== "Escape") return;
          event.preventDefault();
          if (isDone) save();
          else leave();
        }}
      />
      <button type="submit" className="small">
        {words.save}
      </button>
    </form>
  );
}

interface WaitingProps {
  item: QueueItem;
  before: QueueItem | undefined;
  /** The message after the next one. */
  after: QueueItem | undefined;
  isLast: boolean;
  change: (change: QueueChange) => void;
  edit: (text: string) => void;
}

function Waiting({ item, before, after, isLast, change, edit }: WaitingProps) {
  const words = useWords();
  const text = textOf(item.content);
  const { queue_id } = item;
  const isOnItsWay = item.steers !== undefined; // the agent may take it at any moment
  const isPlain = item.content.every((each) => each.type === "text");
  return (
    <li>
      <span className="text" dir="auto">
        <VisibleText text={text} />
        {isOnItsWay && <span className="muted"> · {words.isSteered}</span>}
      </span>
      <span className="buttons">
        <button
          type="button"
          className="quiet small"
          aria-disabled={!before}
          aria-label={words.moveUp}
          title={words.moveUp}
          onClick={() => before && change({ action: "move", queue_id, before: before.queue_id })}
        >
          <Icon name="up" />
        </button>
        <button
          type="button"
          className="quiet small"
          aria-disabled={isLast}
          aria-label={words.moveDown}
          title={words.moveDown}
          onClick={() =>
            isLast ||
            change(
              after ? { action: "move", queue_id, before: after.queue_id } : { action: "move", queue_id },
            )
          }
        >
          <Icon name="down" />
        </button>
        {isPlain && !isOnItsWay && (
          <button
            type="button"
            className="quiet small"
            aria-label={words.editQueued}
            title={words.editQueued}
            onClick={() => edit(text)}
          >
            <Icon name="pencil" />
          </button>
        )}
        {!isOnItsWay && (
          <button
            type="button"
            className="quiet small"
            aria-label={words.removeQueued}
            title={words.removeQueued}
            onClick={() => change({ action: "remove", queue_id })}
          >
            <Icon name="cross" />
          </button>
        )}
      </span>
    </li>
  );
}

function textOf(content: readonly Content[]): string {
  return content.map((each) => (each.type === "text" ? each.text : `[${each.type}]`)).join("\n");
}
