// The labels of one conversation: shown, added and removed.
import { useTurnwire } from "@turnwire/react";
import { useEffect, useRef, useState } from "react";
import { Dialog } from "../app/Dialog";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { notifyChange } from "../app/serverChanges";
import { VisibleText } from "../markdown/VisibleText";
import { useConversations, useInfo } from "./conversationList";
import { nameOf, useOriginal } from "./forks";

export default function Labels({ id, close }: { id: string; close: () => void }) {
  const words = useWords();
  const client = useTurnwire();
  const { showingRefusal } = useNotices();
  const { choices, refresh } = useConversations();
  const info = useInfo(id);
  const name = nameOf(info?.title, info, useOriginal(info), words);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []); // the dialog has given the focus to its close button
  const [written, setWritten] = useState("");
  const [changed, setChanged] = useState<string[]>();
  const labels = changed ?? info?.labels ?? [];
  const set = async (wanted: string[]) => {
    const path = `/api/conversations/${encodeURIComponent(id)}`;
    const done = await showingRefusal(
      client.request<{ labels?: string[] }>("PATCH", path, { labels: wanted }),
    );
    if (!done) return false;
    setChanged(done.labels ?? []);
    notifyChange();
    void refresh();
    return true;
  };
  const others = choices.labels.filter((each) => !labels.includes(each));
  return (
    <Dialog label={words.labels.title(name)} close={close}>
      {() => (
        <div className="label-form">
          {labels.length ? (
            <div className="chips">
              {labels.map((each) => (
                <button
                  key={each}
                  type="button"
                  className="small"
                  aria-label={words.labels.remove(each)}
                  title={words.labels.remove(each)}
                  onClick={() => void set(labels.filter((label) => label !== each))}
                >
                  <VisibleText text={each} /> <Icon name="cross" />
                </button>
              ))}
            </div>
          ) : (
            <p className="muted">{words.labels.none}</p>
          )}
          <form
            onSubmit={(event) => {
              event.preventDefault();
              const label = written.trim();
              if (label) void set([...labels, label]).then((isDone) => isDone && setWritten(""));
            }}
          >
            <input
              ref={field}
              aria-label={words.labels.field}
              placeholder={words.labels.field}
              maxLength={40}
              value={written}
              onChange={(event) => setWritten(event.target.value)}
            />
            <button type="submit">{words.labels.add}</button>
          </form>
          {others.length > 0 && (
            <div className="chips" role="group" aria-label={words.labels.known}>
              {others.map((each) => (
                <button
                  key={each}
                  type="button"
                  className="quiet small"
                  onClick={() => void set([...labels, each])}
                >
                  <Icon name="plus" /> <VisibleText text={each} />
                </button>
              ))}
            </div>
          )}
        </div>
      )}
    </Dialog>
  );
}
