// The field for a message, with the buttons to send it and to stop the agent.
import { type FormEvent, type KeyboardEvent, type ReactElement, useRef } from "react";
import { type UsedConversation, useConversation } from "../hooks.js";
import { useAction } from "./action.js";

export interface ComposerProps {
  id: string;
  placeholder?: string;
  className?: string;
}

/** Sends messages to a conversation. Enter sends, Shift and Enter begins a new line. */
export function Composer({ id, placeholder = "Write a message", className }: ComposerProps): ReactElement {
  const { view, connection, send, interrupt } = useConversation(id);
  const form = useRef<HTMLFormElement>(null);
  const { run, isBusy, refusal } = useAction();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const field = form.current?.elements.namedItem("words") as HTMLTextAreaElement;
    const words = field.value;
    // A refused message stays in the field.
    if (words.trim() && (await run(() => send(words))) && field.value === words) field.value = "";
  };
  return (
    <form ref={form} className={className} data-turnwire="composer" onSubmit={(event) => void submit(event)}>
      <textarea name="words" aria-label={placeholder} placeholder={placeholder} onKeyDown={sendOnEnter} />
      <button type="submit" disabled={isBusy || connection === "closed"}>
        Send
      </button>
      <Stop isRunning={view.status?.running === true} interrupt={interrupt} />
      {refusal && <p role="alert">{refusal}</p>}
    </form>
  );
}

function Stop(props: { isRunning: boolean; interrupt: UsedConversation["interrupt"] }): ReactElement {
  const { run, isBusy } = useAction();
  return (
    <button
      type="button"
      disabled={!props.isRunning || isBusy}
      onClick={() => void run(() => props.interrupt())}
    >
      Stop
    </button>
  );
}

function sendOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  // An input method uses Enter to choose a word.
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}
