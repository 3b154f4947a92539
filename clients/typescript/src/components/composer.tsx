// The field for a message, with the buttons to send it and to stop the agent.
import type { ReactElement } from "react";
import { useComposer, useStop, useUnsavedDraft } from "../headless/composer.js";
import { useConversation, useTurnwire } from "../hooks.js";

export interface ComposerProps {
  id: string;
  placeholder?: string;
  className?: string;
}

/** Sends messages to a conversation. Enter sends, Shift and Enter begins a new line. */
export function Composer({ id, placeholder = "Write a message", className }: ComposerProps): ReactElement {
  const conversation = useTurnwire().conversation(id);
  const { view, connection, capabilities, send } = useConversation(id);
  const { status } = view;
  const draft = useUnsavedDraft();
  const { stop, isStopping } = useStop(conversation, status);
  const composer = useComposer({
    status,
    capabilities,
    draft,
    send: (content, steer) => send(content, undefined, steer),
  });
  return (
    <form
      className={className}
      data-turnwire="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void composer.submit();
      }}
    >
      <textarea
        name="words"
        aria-label={placeholder}
        placeholder={placeholder}
        value={draft.text}
        rows={Math.min(10, draft.text.split("\n").length)}
        dir="auto"
        onChange={(event) => draft.write(event.target.value)}
        onKeyDown={composer.pressed}
      />
      <button type="submit" disabled={composer.isEmpty || connection === "closed"}>
        Send
      </button>
      {composer.maySteer && (
        <button type="button" disabled={composer.isEmpty} onClick={() => void composer.submit(true)}>
          Add to this turn
        </button>
      )}
      <button type="button" disabled={!composer.isRunning || isStopping} onClick={() => void stop()}>
        {isStopping ? "Stopping ..." : "Stop"}
      </button>
      {composer.refusal && <p role="alert">{composer.refusal}</p>}
    </form>
  );
}
