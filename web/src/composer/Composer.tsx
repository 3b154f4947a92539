// The field in which a person writes messages.

import type { SentContent } from "@turnwire/client";
import {
  ComposerField,
  ComposerRoot,
  ComposerSend,
  ComposerSteer,
  ComposerStop,
  type UsedStop,
  useComposer,
  useCurrentConversation,
  useTurnwire,
} from "@turnwire/react";
import { type ReactNode, useRef } from "react";
import { isTouch, useInitialFocus } from "../app/focus";
import { Icon } from "../app/Icon";
import { useWords } from "../app/language";
import { OPTIONS } from "../talk/connectionOptions";
import { AttachButton, Attachments, useDropped } from "./Attachments";
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
  /** What is chosen for the next turns, next to the button for files. */
  choices: ReactNode;
  /** Earlier messages of the person, the newest last. */
  history: () => string[];
  /** Sends a message, perhaps into the running turn. Rejects if it is refused; the text is restored by then. */
  send: (content: SentContent, steer: boolean) => Promise<unknown>;
  stop: UsedStop;
  showNotice: (problem: string) => void;
  showRefusal: (problem: unknown) => void;
}

export function Composer({ choices, history, send, stop, showNotice, showRefusal }: Props) {
  const words = useWords();
  const client = useTurnwire();
  const { id, view, capabilities } = useCurrentConversation();
  const { status } = view;
  const draft = useDraft(draftName(id));
  const { latest, write } = draft;
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
  useReturnedText(id, (join) => {
    composer.leaveHistory();
    commands.close();
    write(join(latest.current));
  });
  useReturnedFiles(id, capabilities && files.take);

  const choice = commands.isOpen ? commands : mentions; // only one of them is open
  const isOver = useDropped(files.take);

  return (
    <ComposerRoot
      className={`composer${isOver ? " over" : ""}`}
      composer={composer}
      draft={draft}
      files={files}
      stop={stop}
    >
      <Attachments of={files} />
      <CommandList offered={choice} sign={choice === commands ? "/" : "@"} />
      <ComposerField
        fieldRef={field}
        id="composer"
        {...(GROWS ? { rows: 1 } : {})}
        placeholder={composer.isRunning ? words.placeholderBusy : words.placeholder}
        // A multi-line field cannot have the role combobox, but its list works like one.
        aria-autocomplete="list"
        aria-controls={choice.found.length ? LIST : undefined}
        aria-activedescendant={choice.found.length ? optionId(choice.at) : undefined}
        onChange={({ target }) => {
          commands.typed(target.value);
          mentions.typed(target.value);
        }}
        onBlur={(event) => event.relatedTarget?.id !== LIST && choice.close()}
        onKeyDown={(event) => {
          if (!event.nativeEvent.isComposing) void (commands.pressed(event) || mentions.pressed(event));
        }}
      />
      <AttachButton take={files.take} />
      {choices}
      <div className="buttons">
        <ComposerStop className="stop" title={`${words.stop} (Esc)`}>
          {stop.isStopping ? <span className="spinner" aria-hidden="true" /> : <Icon name="stop" />}
          <span className="label">{stop.isStopping ? words.stopping : words.stop}</span>
        </ComposerStop>
        <ComposerSteer className="send" title={`${words.addToTurn} (Ctrl+Enter)`}>
          <Icon name="steer" />
        </ComposerSteer>
        <ComposerSend className="primary send">
          <Icon name="send" />
        </ComposerSend>
      </div>
    </ComposerRoot>
  );
}
