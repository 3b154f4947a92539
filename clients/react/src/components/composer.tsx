// The field for a message, with the buttons to attach files, to send it and to stop the agent.
import { type DragEvent, type ReactElement, useState } from "react";
import { type UsedAttachments, useAttachments } from "../headless/attachments.js";
import { useComposer, useStop, useUnsavedDraft } from "../headless/composer.js";
import type { PastedText } from "../headless/pasted_text.js";
import { useConversation, useTurnwire } from "../hooks.js";
import {
  AttachButton,
  AttachedFiles,
  ComposerField,
  ComposerRoot,
  ComposerSend,
  ComposerSteer,
  ComposerStop,
} from "./composer_parts.js";
import { useWords } from "./words.js";

export interface ComposerProps {
  id: string;
  placeholder?: string;
  className?: string;
  /** What becomes of a long text that is pasted; by default a file. Ctrl+Shift+V always pastes text. */
  longPaste?: "file" | "text";
}

/**
 * Sends messages to a conversation. Enter sends, Shift and Enter begins a new line. Takes files that
 * are chosen, pasted or dropped, and makes a file of a long text.
 */
export function Composer(props: ComposerProps): ReactElement {
  return <OneComposer key={props.id} {...props} />; // text and files belong to one conversation
}

function OneComposer({ id, placeholder, className, longPaste = "file" }: ComposerProps): ReactElement {
  const words = useWords();
  const client = useTurnwire();
  const conversation = client.conversation(id);
  const { view, connection, capabilities, send } = useConversation(id);
  const { status } = view;
  const draft = useUnsavedDraft();
  const [problem, setProblem] = useState<string>();
  const [pasted, setPasted] = useState<PastedText>();
  const attachments = useAttachments(client, id, {
    able: capabilities,
    onRefused: setProblem,
    onNotTaken: ({ name, type }) => setProblem(words.notTaken(name, type.startsWith("image/"))),
    onLongPaste: longPaste === "file" ? setPasted : undefined,
  });
  const take = (chosen: Iterable<File> | null) => {
    setProblem(undefined);
    attachments.take(chosen);
  };
  const files = { ...attachments, take };
  const stop = useStop(conversation, status);
  const composer = useComposer({
    status,
    capabilities,
    draft,
    attached: files.attached,
    send: (content, steer) => send(content, undefined, steer),
    onSubmit: () => {
      setProblem(undefined);
      setPasted(undefined);
    },
  });
  const said = problem ?? composer.refusal;
  const label = placeholder ?? words.message;
  return (
    <ComposerRoot
      className={className}
      composer={composer}
      draft={draft}
      files={files}
      stop={stop}
      isClosed={connection === "closed"}
      {...droppedInto(take)}
    >
      <AttachedFiles files={files} />
      <Pasted pasted={pasted} files={files} done={() => setPasted(undefined)} />
      <ComposerField aria-label={label} placeholder={label} />
      <ComposerSend />
      <ComposerSteer />
      <ComposerStop />
      <AttachButton take={take} />
      {said && <p role="alert">{said}</p>}
    </ComposerRoot>
  );
}

interface PastedProps {
  pasted: PastedText | undefined;
  files: UsedAttachments;
  done: () => void;
}

/** Says what became of a long text, and offers to paste it as text, until its file is removed. */
function Pasted({ pasted, files: { uploads, texts }, done }: PastedProps): ReactElement {
  const words = useWords();
  const isThere = [...texts.all, ...uploads.all].some(({ name }) => name === pasted?.name);
  const shown = pasted?.isAdded && !isThere ? undefined : pasted;
  return (
    <span role="status">
      {shown && (
        <>
          {shown.isAdded ? words.longPaste(shown.name) : words.longPasteRefused(words.size(shown.size))}{" "}
          <button
            type="button"
            onClick={() => {
              done();
              shown.pasteAsText();
            }}
          >
            {words.pasteAsText}
          </button>
        </>
      )}
    </span>
  );
}

/** Handlers for an element that takes dropped files. The browser would open them instead. */
function droppedInto(take: (files: FileList) => void) {
  const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer.types.includes("Files");
  return {
    onDragOver: (event: DragEvent) => hasFiles(event) && event.preventDefault(),
    onDrop: (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      take(event.dataTransfer.files);
    },
  };
}
