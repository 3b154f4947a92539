// The field for a message, with the buttons to attach files, to send it and to stop the agent.
import { type DragEvent, type ReactElement, useState } from "react";
import { useAttachments } from "../headless/attachments.js";
import { useComposer, useStop, useUnsavedDraft } from "../headless/composer.js";
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
}

/**
 * Sends messages to a conversation. Enter sends, Shift and Enter begins a new line. Takes files that
 * are chosen, pasted or dropped.
 */
export function Composer({ id, placeholder, className }: ComposerProps): ReactElement {
  const words = useWords();
  const client = useTurnwire();
  const conversation = client.conversation(id);
  const { view, connection, capabilities, send } = useConversation(id);
  const { status } = view;
  const draft = useUnsavedDraft();
  const [problem, setProblem] = useState<string>();
  const attachments = useAttachments(client, id, {
    able: capabilities,
    onRefused: setProblem,
    onNotTaken: ({ name, type }) => setProblem(words.notTaken(name, type.startsWith("image/"))),
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
    onSubmit: () => setProblem(undefined),
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
      <ComposerField aria-label={label} placeholder={label} />
      <ComposerSend />
      <ComposerSteer />
      <ComposerStop />
      <AttachButton take={take} />
      {said && <p role="alert">{said}</p>}
    </ComposerRoot>
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
