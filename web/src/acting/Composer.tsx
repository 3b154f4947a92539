// Where a person writes.

import type { Capabilities, SentContent, Status } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { isTouch, useReady } from "../app/focus";
import { Icon } from "../app/Icon";
import { keep, kept } from "../app/kept";
import { useWords } from "../app/words";
import { type Attached, useAttached } from "./attached";

/** Whether the browser makes a field as high as what is in it. */
const GROWS = CSS.supports("field-sizing", "content");

interface Props {
  id: string;
  status: Status | undefined;
  capabilities: Capabilities | undefined;
  /** What was said here, the newest last. */
  history: () => string[];
  send: (content: SentContent) => Promise<unknown>;
  stop: () => void;
  isStopping: boolean;
  say: (problem: string) => void;
}

export function Composer({ id, status, capabilities, history, send, stop, isStopping, say }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const draft = `draft:${id}`;
  const [text, setText] = useState(() => kept(draft) ?? "");
  const [at, setAt] = useState<number>();
  const attached = useAttached(client, id, say);
  const field = useRef<HTMLTextAreaElement>(null);
  useReady(field);
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
    const taken = attached.take();
    if (!isTouch()) field.current?.focus();
    try {
      await send(content);
      taken.done();
    } catch (problem) {
      // What was refused was not said: it goes back to where it was.
      setText((now) => now || said);
      taken.putBack();
      say((problem as Error).message);
    }
  };

  const pressed = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !isTouch()) {
      event.preventDefault();
      void submit();
    }
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    const before = history();
    const isFree = text === "" || (at !== undefined && text === before[at]);
    const to = (at ?? before.length) + (event.key === "ArrowUp" ? -1 : 1);
    if (!isFree || to < 0 || !before.length) return;
    event.preventDefault();
    setAt(to < before.length ? to : undefined);
    setText(before[to] ?? "");
  };

  const take = (files: FileList | null | undefined) => {
    const pictures = [...(files ?? [])].filter((file) => file.type.startsWith("image/"));
    if (!pictures.length) return say(words.onlyPictures);
    if (mayAttach) attached.add(pictures);
    else say(words.noPictures);
  };
  const isOver = useDropped(take);

  return (
    <form
      className={`composer${isOver ? " over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Attachments all={attached.all} remove={attached.remove} />
      <textarea
        ref={field}
        id="composer"
        rows={GROWS ? 1 : Math.min(10, text.split("\n").length)}
        value={text}
        dir="auto"
        placeholder={isBusy ? words.placeholderBusy : words.placeholder}
        aria-label={words.message}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={pressed}
        onPaste={(event) => {
          if (!event.clipboardData.files.length) return;
          event.preventDefault();
          take(event.clipboardData.files);
        }}
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
              onChange={(event) => {
                take(event.target.files);
                event.target.value = ""; // the same one may be chosen again
              }}
            />
          </label>
        )}
        {isBusy && (
          <button
            type="button"
            className="stop"
            onClick={stop}
            disabled={isStopping}
            title={`${words.stop} (Esc)`}
          >
            {isStopping ? <span className="spinner" aria-hidden="true" /> : <Icon name="stop" />}
            <span className="label">{isStopping ? words.stopping : words.stop}</span>
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

/** What is dropped anywhere in the page is meant for the message; the browser must not go there instead. */
function useDropped(take: (files: FileList) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(take);
  latest.current = take;
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (!event.dataTransfer?.files.length) return;
      event.preventDefault();
      latest.current(event.dataTransfer.files);
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setOver(false);
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    addEventListener("dragleave", leave);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
      removeEventListener("dragleave", leave);
    };
  }, []);
  return isOver;
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
