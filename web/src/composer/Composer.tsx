// The field in which a person writes messages.

import type { Capabilities, SentContent, Status } from "@turnwire/client";
import { useTurnwire } from "@turnwire/client/react";
import { type KeyboardEvent, useRef, useState } from "react";
import { isTouch, useInitialFocus } from "../app/focus";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { OPTIONS } from "../talk/connectionOptions";
import { AttachButton, Attachments, pasteImages, useDroppedImages } from "./Attachments";
import { CommandList, LIST, optionId } from "./CommandList";
import { draftName, joinTexts, useDraft, useReturnedText } from "./drafts";
import { useMentions } from "./fileMentions";
import { pictureOf, useImageUploads } from "./imageUploads";
import { useCommands } from "./slashCommands";
import { useTextFiles } from "./textFiles";

/** Whether the browser adapts the height of a field to its content. */
const GROWS = CSS.supports("field-sizing", "content");

interface Props {
  id: string;
  status: Status | undefined;
  capabilities: Capabilities | undefined;
  /** Earlier messages of the person, the newest last. */
  history: () => string[];
  /** Sends a message, perhaps into the running turn. Rejects if it is refused; the text is restored by then. */
  send: (content: SentContent, steer: boolean) => Promise<unknown>;
  stop: () => void;
  isStopping: boolean;
  showNotice: (problem: string) => void;
  showRefusal: (problem: unknown) => void;
}

export function Composer({
  id,
  status,
  capabilities,
  history,
  send,
  stop,
  isStopping,
  showNotice,
  showRefusal,
}: Props) {
  const words = useWords();
  const client = useTurnwire();
  const { text, latest, write } = useDraft(draftName(id));
  const [at, setAt] = useState<number>();
  const attached = useImageUploads(client, id, showNotice);
  const texts = useTextFiles(showNotice);
  const field = useRef<HTMLTextAreaElement>(null);
  useInitialFocus(field);
  const commands = useCommands(client.conversation(id, OPTIONS), capabilities, (text) => {
    write(text);
    field.current?.focus();
  });
  const mentions = useMentions(client, id, field, (text) => {
    write(text);
    field.current?.focus();
  });
  useReturnedText(id, (words) => {
    setAt(undefined);
    commands.close();
    write(joinTexts(words, latest.current));
  });
  const isBusy = status?.running || status?.turn_id !== undefined;
  const mayAttach = capabilities?.images === true;
  const maySteer = isBusy && capabilities?.steer === true;

  const isEmpty = (!text.trim() && !attached.all.length && !texts.all.length) || attached.isBusy;

  const submit = async (steer = false) => {
    if (isEmpty) return;
    const said = texts.take(text.trim());
    const pictures = attached.all.map((each) => pictureOf(each.blobId ?? ""));
    const content: SentContent = pictures.length
      ? [...(said ? [{ type: "text" as const, text: said }] : []), ...pictures]
      : said;
    write("", "now");
    setAt(undefined);
    commands.close();
    mentions.close();
    const taken = attached.take();
    if (!isTouch()) field.current?.focus();
    try {
      await send(content, steer && maySteer);
      taken.done();
    } catch (problem) {
      taken.putBack(); // like the text
      showRefusal(problem);
    }
  };

  const pressed = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing || commands.pressed(event) || mentions.pressed(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !isTouch()) {
      event.preventDefault();
      void submit(event.ctrlKey || event.metaKey);
    }
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    const before = history();
    const isFree = text === "" || (at !== undefined && text === before[at]);
    const to = (at ?? before.length) + (event.key === "ArrowUp" ? -1 : 1);
    if (!isFree || to < 0 || !before.length) return;
    event.preventDefault();
    setAt(to < before.length ? to : undefined);
    write(before[to] ?? "");
  };

  const choice = commands.isOpen ? commands : mentions; // only one of them is open
  const { take, isOver } = useDroppedImages(attached.add, mayAttach, showNotice, texts.add);

  return (
    <form
      className={`composer${isOver ? " over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Attachments all={attached.all} remove={attached.remove} texts={texts.all} removeText={texts.remove} />
      <CommandList offered={choice} sign={choice === commands ? "/" : "@"} />
      <textarea
        ref={field}
        id="composer"
        rows={GROWS ? 1 : Math.min(10, text.split("\n").length)}
        value={text}
        dir="auto"
        placeholder={isBusy ? words.placeholderBusy : words.placeholder}
        aria-label={words.message}
        // A multi-line field cannot have the role combobox, but its list works like one.
        aria-autocomplete="list"
        aria-controls={choice.found.length ? LIST : undefined}
        aria-activedescendant={choice.found.length ? optionId(choice.at) : undefined}
        onChange={(event) => {
          write(event.target.value);
          commands.typed(event.target.value);
          mentions.typed(event.target.value);
        }}
        onBlur={(event) => event.relatedTarget?.id !== LIST && choice.close()}
        onKeyDown={pressed}
        onPaste={(event) => pasteImages(event, take, mayAttach)}
      />
      <div className="buttons">
        <AttachButton take={take} anything />
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
        {maySteer && (
          <button
            type="button"
            className="send"
            disabled={isEmpty}
            aria-label={words.addToTurn}
            title={`${words.addToTurn} (Ctrl+Enter)`}
            onClick={() => void submit(true)}
          >
            <Icon name="steer" />
          </button>
        )}
        <button
          type="submit"
          className="primary send"
          disabled={isEmpty}
          aria-label={isBusy ? words.sendLater : words.send}
          title={isBusy ? words.sendLater : words.send}
        >
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
