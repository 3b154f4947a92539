// Messages that wait for their turn.
import type { Content, QueueChange, QueueItem, Status } from "@turnwire/client";
import { useState } from "react";
import { Icon } from "../app/Icon";
import { useWords } from "../app/words";

interface Props {
  status: Status;
  change: (change: QueueChange) => void;
}

export function Queue({ status, change }: Props) {
  const words = useWords();
  const { queue, queue_held } = status;
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
          <button type="button" className="small" onClick={() => change({ action: "resume" })}>
            {words.resume}
          </button>
        )}
      </header>
      <ol>
        {queue.map((item, at) => (
          <Waiting
            key={item.queue_id}
            item={item}
            before={queue[at - 1]}
            after={queue[at + 2]}
            isLast={at === queue.length - 1}
            change={change}
          />
        ))}
      </ol>
    </section>
  );
}

interface WaitingProps {
  item: QueueItem;
  before: QueueItem | undefined;
  /** The one behind the next. */
  after: QueueItem | undefined;
  isLast: boolean;
  change: Props["change"];
}

function Waiting({ item, before, after, isLast, change }: WaitingProps) {
  const words = useWords();
  const [edited, setEdited] = useState<string>();
  const text = textOf(item.content);
  const { queue_id } = item;
  const save = () => {
    if (edited?.trim()) change({ action: "replace", queue_id, content: edited.trim() });
    setEdited(undefined);
  };
  if (edited !== undefined) {
    return (
      <li>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <input
            autoFocus
            value={edited}
            aria-label={words.editQueued}
            onChange={(event) => setEdited(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault();
              setEdited(undefined);
            }}
          />
          <button type="submit" className="small">
            {words.save}
          </button>
        </form>
      </li>
    );
  }
  const isPlain = item.content.every((each) => each.type === "text");
  return (
    <li>
      <span className="text">{text}</span>
      <span className="buttons">
        <button
          type="button"
          className="quiet small"
          disabled={!before}
          aria-label={words.moveUp}
          title={words.moveUp}
          onClick={() => before && change({ action: "move", queue_id, before: before.queue_id })}
        >
          <Icon name="up" />
        </button>
        <button
          type="button"
          className="quiet small"
          disabled={isLast}
          aria-label={words.moveDown}
          title={words.moveDown}
          onClick={() =>
            change(
              after ? { action: "move", queue_id, before: after.queue_id } : { action: "move", queue_id },
            )
          }
        >
          <Icon name="down" />
        </button>
        {isPlain && (
          <button
            type="button"
            className="quiet small"
            aria-label={words.editQueued}
            title={words.editQueued}
            onClick={() => setEdited(text)}
          >
            <Icon name="pencil" />
          </button>
        )}
        <button
          type="button"
          className="quiet small"
          aria-label={words.removeQueued}
          title={words.removeQueued}
          onClick={() => change({ action: "remove", queue_id })}
        >
          <Icon name="cross" />
        </button>
      </span>
    </li>
  );
}

export function textOf(content: readonly Content[]): string {
  return content.map((each) => (each.type === "text" ? each.text : `[${each.type}]`)).join(" ");
}
