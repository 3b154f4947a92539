// A message in its layers: what the agent said, what became of it on the way, what is shown.
import type { MessageView } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import { useEffect, useState } from "react";
import { Dialog } from "../app/Dialog";
import { useNotices } from "../app/Notices";
import { useWords } from "../app/words";
import { Raw } from "../tools/parts";

export interface Subject {
  message: MessageView;
  blockId?: string | undefined;
}

/** What the server knows of an entry: GET /api/conversations/{id}/messages/{sequence}. */
interface Layers {
  raw?: unknown;
  events?: unknown[];
  entry: unknown;
  frame: { payload: { block_id?: string; message_id?: string; tool_use_id?: string; question_id?: string } };
}

interface Props {
  id: string;
  subject: Subject;
  close: () => void;
}

export function Inspector({ id, subject, close }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const { trying } = useNotices();
  const [number, setNumber] = useState(subject.message.sequence);
  const [layers, setLayers] = useState<Layers>();
  useEffect(() => {
    setLayers(undefined);
    if (number === undefined) return;
    let isGone = false;
    const path = `/api/conversations/${encodeURIComponent(id)}/messages/${number}`;
    void trying(client.request<Layers>("GET", path)).then((told) => {
      if (isGone || !told) return;
      // A message is several entries: go on to the one that this block is.
      const { block_id, message_id, tool_use_id, question_id } = told.frame.payload;
      const isOther = subject.blockId && ![block_id, tool_use_id, question_id].includes(subject.blockId);
      if (isOther && message_id === subject.message.id && block_id) setNumber(number + 1);
      else setLayers(told);
    });
    return () => {
      isGone = true;
    };
  }, [client, id, number, subject, trying]);
  const shown = subject.message.blocks.find((block) => block.id === subject.blockId) ?? subject.message;
  return (
    <Dialog
      label={words.inspect}
      title={number === undefined ? words.inspect : words.layers.title(number)}
      className="inspector"
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
              <Layer title={words.layers.shown} value={shown} none={words.layers.none} />
            </div>
          )}
        </>
      )}
    </Dialog>
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
