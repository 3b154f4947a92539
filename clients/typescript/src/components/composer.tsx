// The field for a message, with the buttons to attach files, to send it and to stop the agent.
import { type DragEvent, type ReactElement, useState } from "react";
import { pasteFiles, type UsedAttachments, useAttachments } from "../headless/attachments.js";
import { useComposer, useStop, useUnsavedDraft } from "../headless/composer.js";
import type { PastedText } from "../headless/pasted_text.js";
import { useConversation, useTurnwire } from "../hooks.js";
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
export function Composer({ id, placeholder, className, longPaste = "file" }: ComposerProps): ReactElement {
  const words = useWords();
  const client = useTurnwire();
  const conversation = client.conversation(id);
  const { view, connection, capabilities, send } = useConversation(id);
  const { status } = view;
  const draft = useUnsavedDraft();
  const [problem, setProblem] = useState<string>();
  const [pasted, setPasted] = useState<PastedText>();
  const files = useAttachments(client, id, {
    able: capabilities,
    onRefused: setProblem,
    onNotTaken: ({ name }) => setProblem(words.notTaken(name)),
    onLongPaste: longPaste === "file" ? setPasted : undefined,
  });
  const { stop, isStopping } = useStop(conversation, status);
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
  const label = placeholder ?? words.message;
  const take = (chosen: Iterable<File> | null) => {
    setProblem(undefined);
    files.take(chosen);
  };
  return (
    <form
      className={className}
      data-turnwire="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void composer.submit();
      }}
      {...droppedInto(take)}
    >
      <Attached files={files} />
      <Pasted pasted={pasted} files={files} done={() => setPasted(undefined)} />
      <textarea
        name="words"
        aria-label={label}
        placeholder={label}
        value={draft.text}
        rows={Math.min(10, draft.text.split("\n").length)}
        dir="auto"
        onChange={(event) => draft.write(event.target.value)}
        onKeyDown={composer.pressed}
        onPaste={(event) => pasteFiles(event, { ...files, take })}
      />
      <button type="submit" disabled={composer.isEmpty || connection === "closed"}>
        {words.send}
      </button>
      {composer.maySteer && (
        <button type="button" disabled={composer.isEmpty} onClick={() => void composer.submit(true)}>
          {words.addToTurn}
        </button>
      )}
      <button type="button" disabled={!composer.isRunning || isStopping} onClick={() => void stop()}>
        {isStopping ? words.stopping : words.stop}
      </button>
      <input
        type="file"
        multiple
        aria-label={words.attach}
        onChange={(event) => {
          take(event.target.files);
          event.target.value = ""; // so that the same file can be chosen again
        }}
      />
      {(problem ?? composer.refusal) && <p role="alert">{problem ?? composer.refusal}</p>}
    </form>
  );
}

/** The files of the next message, each with a button to remove it. */
function Attached({ files: { uploads, texts } }: { files: UsedAttachments }): ReactElement | null {
  if (!uploads.all.length && !texts.all.length) return null;
  return (
    <ul data-turnwire="attached">
      {texts.all.map((file) => (
        <li key={`text-${file.key}`}>
          {file.name} <Remove name={file.name} remove={() => texts.remove(file)} />
        </li>
      ))}
      {uploads.all.map(({ key, name, preview, isLoading }) => (
        <li key={key} aria-busy={isLoading}>
          {preview ? <img src={preview} alt={name} /> : name}{" "}
          <Remove name={name} remove={() => uploads.remove(key)} />
        </li>
      ))}
    </ul>
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

function Remove({ name, remove }: { name: string; remove: () => void }): ReactElement {
  const label = useWords().remove(name);
  return (
    <button type="button" aria-label={label} title={label} onClick={remove}>
      ×
    </button>
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
