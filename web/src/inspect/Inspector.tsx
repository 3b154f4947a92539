// The inspector: an entry in its layers, from the agent's event to the view.
import type { MessageView } from "@turnwire/client";
import { useTurnwire } from "@turnwire/react";
import { useEffect, useState } from "react";
import { Dialog } from "../app/Dialog";
import { Icon, type IconName } from "../app/Icon";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { Raw } from "../tools/cardParts";

export interface Subject {
  message: MessageView;
  blockId?: string | undefined;
}

/** The layers of an entry: GET /api/conversations/{id}/messages/{sequence}. */
interface Layers {
  raw?: unknown;
  events?: unknown[];
  entry: unknown;
  frame: { payload: { block_id?: string; message_id?: string; tool_use_id?: string; question_id?: string } };
}

interface Props {
  id: string;
  /** The number of the last entry. */
  head: number;
  subject: Subject;
  close: () => void;
}

export function Inspector({ id, head, subject, close }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal } = useNotices();
  const [number, setNumber] = useState(subject.message.sequence);
  const [isOther, setOther] = useState(false); // the person has moved to another entry
  const [layers, setLayers] = useState<Layers>();
  useEffect(() => {
    setLayers(undefined);
    if (number === undefined) return;
    let isGone = false;
    const path = `/api/conversations/${encodeURIComponent(id)}/messages/${number}`;
    void showingRefusal(client.request<Layers>("GET", path)).then((told) => {
      if (isGone || !told) return;
      if (isOther) return setLayers(told);
      // A message consists of several entries: go to the entry of this block.
      const { block_id, message_id, tool_use_id, question_id } = told.frame.payload;
      const isBefore = subject.blockId && ![block_id, tool_use_id, question_id].includes(subject.blockId);
      if (isBefore && message_id === subject.message.id && block_id) setNumber(number + 1);
      else setLayers(told);
    });
    return () => {
      isGone = true;
    };
  }, [client, id, number, subject, isOther, showingRefusal]);
  const step = (by: number) => {
    setOther(true);
    setNumber((now) => (now === undefined ? now : Math.max(1, now + by)));
  };
  const shown = subject.message.blocks.find((block) => block.id === subject.blockId) ?? subject.message;
  return (
    <Dialog
      label={words.inspect}
      title={number === undefined ? words.inspect : words.layers.title(number)}
      className="inspector"
      actions={
        number !== undefined && (
          <>
            <Step label={words.layers.before} icon="up" isOff={number <= 1} go={() => step(-1)} />
            <Step label={words.layers.after} icon="down" isOff={number >= head} go={() => step(1)} />
          </>
        )
      }
      close={close}
    >
      {() => (
        <>
          {number === undefined && <p>{words.layers.growing}</p>}
          {number !== undefined && !layers && <p role="status">{words.layers.loading}</p>}
          {layers && (
            <div className="columns">
              <Layer title={words.layers.raw} value={layers.raw} none={words.layers.noRaw} />
              <Layer
                title={layers.events?.length ? words.layers.event : words.layers.entry}
                value={layers.events?.length ? layers.events : layers.entry}
                none={words.layers.none}
              />
              <Layer title={words.layers.frame} value={layers.frame} none={words.layers.none} />
              <Layer
                title={words.layers.shown}
                value={isOther ? undefined : shown}
                none={isOther ? words.layers.unseen : words.layers.none}
              />
            </div>
          )}
        </>
      )}
    </Dialog>
  );
}

interface StepProps {
  label: string;
  icon: IconName;
  isOff: boolean;
  go: () => void;
}

/** Goes to the previous or next entry, also to those without a row. */
function Step({ label, icon, isOff, go }: StepProps) {
  return (
    <button
      type="button"
      className="quiet"
      aria-label={label}
      title={label}
      aria-disabled={isOff}
      onClick={() => isOff || go()}
    >
      <Icon name={icon} />
    </button>
  );
}

function Layer({ title, value, none }: { title: string; value: unknown; none: string }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {value === undefined || value === null ? <p className="muted">{none}</p> : <Raw value={value} />}
    </section>
  );
}
