// The field in which a person writes messages.

import type { Capabilities, SentContent, Status } from "@turnwire/client";
import { useComposer, useTurnwire } from "@turnwire/react";
import { type KeyboardEvent, type ReactNode, useRef } from "react";
import { isTouch, useInitialFocus } from "../app/focus";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { OPTIONS } from "../talk/connectionOptions";
import { AttachButton, Attachments, pasteFiles, useDropped } from "./Attachments";
import { CommandList, LIST, optionId } from "./CommandList";
import { draftName, useDraft, useReturnedText } from "./drafts";
import { useMentions } from "./fileMentions";
import { useAttachments } from "./messageFiles";
import { useReturnedFiles } from "./returnedFiles";
import { useCommands, useCommandsOf } from "./slashCommands";

/** Whether the browser adapts the height of a field to its content. */
const GROWS = CSS.supports("field-sizing", "content");

/** Before the server has told what the agent takes. */
const NOTHING = {};

interface Props {
  id: string;
  status: Status | undefined;
  capabilities: Capabilities | undefined;
  /** What is chosen for the next turns, next to the button for files. */
  choices: ReactNode;
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
  choices,
  history,
  send,
  stop,
  isStopping,
  showNotice,
  showRefusal,
}: Props) {
  const words = useWords();
  const client = useTurnwire();
  const draft = useDraft(draftName(id));
  const { text, latest, write } = draft;
  const files = useAttachments(client, id, capabilities ?? NOTHING, showNotice);
  const field = useRef<HTMLTextAreaElement>(null);
  useInitialFocus(field);
  const commandsOf = useCommandsOf(client.conversation(id, OPTIONS), capabilities);
  const commands = useCommands(commandsOf, (text) => {
    write(text);
    field.current?.focus();
  });
  const mentions = useMentions(client, { conversation: id }, field, (text) => {
    write(text);
    field.current?.focus();
  });
  const composer = useComposer({
    status,
    capabilities,
    send,
    draft,
    history,
    attached: files.attached,
    keepsRefused: true,
    onRefused: showRefusal,
    onSubmit: () => {
      commands.close();
      mentions.close();
      if (!isTouch()) field.current?.focus();
    },
  });
  const { isEmpty, isRunning, maySteer, submit } = composer;
  useReturnedText(id, (join) => {
    composer.leaveHistory();
    commands.close();
    write(join(latest.current));
  });
  useReturnedFiles(id, capabilities && files.take);
  const pressed = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (!event.nativeEvent.isComposing && (commands.pressed(event) || mentions.pressed(event))) return;
    composer.pressed(event);
  };

  const choice = commands.isOpen ? commands : mentions; // only one of them is open
  const isOver = useDropped(files.take);

  return (
    <form
      className={`composer${isOver ? " over" : ""}`}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Attachments of={files} />
      <CommandList offered={choice} sign={choice === commands ? "/" : "@"} />
      <textarea
        ref={field}
        id="composer"
        rows={GROWS ? 1 : Math.min(10, text.split("\n").length)}
        value={text}
        dir="auto"
        placeholder={isRunning ? words.placeholderBusy : words.placeholder}
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
        onPaste={(event) => pasteFiles(event, files)}
      />
      <AttachButton take={files.take} />
      {choices}
      <div className="buttons">
        {isRunning && (
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
          aria-label={isRunning ? words.sendLater : words.send}
          title={isRunning ? words.sendLater : words.send}
        >
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
