// Where a person writes.

import type { Capabilities, SentContent, Status } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import { type ClipboardEvent, type DragEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Icon } from "../app/Icon";
import { keep, kept } from "../app/kept";
import { useWords } from "../app/words";
import { type Attached, useAttached } from "./attached";

interface Props {
  id: string;
  status: Status | undefined;
  capabilities: Capabilities | undefined;
  /** What this person has said here, the newest last. */
  history: string[];
  send: (content: SentContent) => Promise<unknown>;
  stop: () => void;
  say: (problem: string) => void;
}

export function Composer({ id, status, capabilities, history, send, stop, say }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const draft = `draft:${id}`;
  const [text, setText] = useState(() => kept(draft) ?? "");
  const [at, setAt] = useState<number>();
  const attached = useAttached(client, id, say);
  const field = useRef<HTMLTextAreaElement>(null);
  const isBusy = status?.running || status?.turn_id !== undefined;
  const mayAttach = capabilities?.images === true;

  useEffect(() => {
    const timer = setTimeout(() => keep(draft, text || null), 200);
    return () => {
      clearTimeout(timer);
      keep(draft, text || null);
    };
  }, [draft, text]);

  const submit = async () => {
    const said = text.trim();
    if ((!said && !attached.all.length) || attached.isBusy) return;
    const pictures = attached.all.map((each) => ({
      type: "image" as const,
      blob: { blob_id: each.blobId ?? "" },
    }));
    const content: SentContent = pictures.length
      ? [...(said ? [{ type: "text" as const, text: said }] : []), ...pictures]
      : said;
    setText("");
    setAt(undefined);
    keep(draft, null);
    attached.clear();
    try {
      await send(content);
    } catch (problem) {
      // What was refused was not said: it goes back to where it was.
      setText((now) => now || said);
      say((problem as Error).message);
    }
  };

  const pressed = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !matchMedia("(pointer: coarse)").matches) {
      event.preventDefault();
      void submit();
    }
    const isFree = text === "" || (at !== undefined && text === history[at]);
    if ((event.key === "ArrowUp" || event.key === "ArrowDown") && isFree && history.length) {
      const to = (at ?? history.length) + (event.key === "ArrowUp" ? -1 : 1);
      if (to < 0) return;
      event.preventDefault();
      setAt(to < history.length ? to : undefined);
      setText(history[to] ?? "");
    }
  };

  const take = (files: FileList | undefined, event: ClipboardEvent | DragEvent) => {
    const pictures = [...(files ?? [])].filter((file) => file.type.startsWith("image/"));
    if (!pictures.length) return;
    event.preventDefault();
    if (mayAttach) attached.add(pictures);
    else say(words.noPictures);
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => take(event.dataTransfer.files, event)}
    >
      <Attachments all={attached.all} remove={attached.remove} />
      <textarea
        ref={field}
        id="composer"
        rows={1}
        value={text}
        dir="auto"
        placeholder={isBusy ? words.placeholderBusy : words.placeholder}
        aria-label={words.message}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={pressed}
        onPaste={(event) => take(event.clipboardData.files, event)}
      />
      <div className="buttons">
        {mayAttach && (
          <label className="quiet button" title={words.attach}>
            <Icon name="image" />
            <input
              type="file"
              accept="image/*"
              multiple
              className="hidden"
              aria-label={words.attach}
              onChange={(event) => attached.add([...(event.target.files ?? [])])}
            />
          </label>
        )}
        {isBusy && (
          <button type="button" className="stop" onClick={stop} title={`${words.stop} (Esc)`}>
            <Icon name="stop" />
            <span>{words.stop}</span>
          </button>
        )}
        <button
          type="submit"
          className="primary send"
          disabled={(!text.trim() && !attached.all.length) || attached.isBusy}
          aria-label={isBusy ? words.sendLater : words.send}
          title={isBusy ? words.sendLater : words.send}
        >
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}

function Attachments({ all, remove }: { all: Attached[]; remove: (key: number) => void }) {
  const words = useWords();
  if (!all.length) return null;
  return (
    <ul className="attached">
      {all.map((each) => (
        <li key={each.key} className={each.blobId ? "" : "loading"}>
          <img src={each.preview} alt={each.name} />
          <button
            type="button"
            className="quiet small"
            aria-label={words.removePicture(each.name)}
            onClick={() => remove(each.key)}
          >
            <Icon name="cross" />
          </button>
        </li>
      ))}
    </ul>
  );
}
