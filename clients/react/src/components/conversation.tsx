// A whole conversation: its messages, its open requests and the field for the next message.
import type { BlockView, MessageView } from "@turnwire/client";
import { Fragment, type ReactElement, useEffect, useMemo } from "react";
import { failuresIn } from "../headless/failures.js";
import { type UnconfirmedMessage, unconfirmedIn } from "../headless/unconfirmed.js";
import type { BlockRenderers } from "./block_renderers.js";
import { Composer } from "./composer.js";
import {
  AllPermissions,
  ConversationRequests,
  ConversationRoot,
  useCurrentConversation,
} from "./conversation_parts.js";
import { Message } from "./message.js";
import { Permission } from "./permission.js";
import { Plan } from "./plan.js";
import { Question } from "./question.js";
import { useWords } from "./words.js";

export interface ConversationProps {
  id: string;
  /** Load only this number of the newest entries at first; a button loads older ones. */
  tail?: number;
  render?: BlockRenderers;
  placeholder?: string;
  /** What becomes of a long text that is pasted; by default a file. */
  longPaste?: "file" | "text";
  className?: string;
}

/** Shows a conversation, live, and lets a person take part in it. */
export function Conversation({ id, tail, ...shown }: ConversationProps): ReactElement {
  return (
    <ConversationRoot id={id} options={tail === undefined ? undefined : { tail }}>
      <Everything {...shown} />
    </ConversationRoot>
  );
}

function Everything({
  render,
  placeholder,
  longPaste,
  className,
}: Omit<ConversationProps, "id" | "tail">): ReactElement {
  const words = useWords();
  const { id, view, connection, error, unanswered, answer, decide, loadOlder } = useCurrentConversation();
  const unconfirmed = useMemo(() => unconfirmedIn(unanswered, view.messages), [unanswered, view.messages]);
  useLeaveWarning(unconfirmed.length > 0);
  const { messages, turns } = view;
  const failures = useMemo(() => failuresIn({ messages, turns }), [messages, turns]);
  const newest = [...failures.values()].at(-1)?.at(-1);
  return (
    <section className={className} data-turnwire="conversation" data-connection={connection}>
      {(view.first ?? 1) > 1 && (
        <button type="button" onClick={() => void loadOlder()}>
          {words.loadOlder}
        </button>
      )}
      <div role="log" aria-busy={view.status?.running === true}>
        {view.messages.map((message, at) => (
          <Fragment key={message.id}>
            <Message message={message} render={render} />
            {failures.get(at + 1)?.map((turn) => (
              <p key={turn.turn_id} data-turnwire="failure" role={turn === newest ? "alert" : "note"}>
                {turn.end.error?.message}
              </p>
            ))}
          </Fragment>
        ))}
        {unconfirmed.map((sent) => (
          <Sending key={sent.id} sent={sent} render={render} />
        ))}
      </div>
      <Plan items={view.plan} />
      <ConversationRequests>
        {(request, place) =>
          request.kind === "question" ? (
            <Question request={request} answer={answer} />
          ) : (
            <Permission request={request} decide={decide} place={place} />
          )
        }
      </ConversationRequests>
      <AllPermissions />
      <p role="status">
        {error?.message ?? (connection === "connected" ? "" : words.connecting)}
        {unanswered.length > unconfirmed.length && ` ${words.sending}`}
      </p>
      <Composer
        id={id}
        {...(placeholder === undefined ? {} : { placeholder })}
        {...(longPaste === undefined ? {} : { longPaste })}
      />
    </section>
  );
}

/** A message that the server has not confirmed yet. */
function Sending({
  sent,
  render,
}: {
  sent: UnconfirmedMessage;
  render: BlockRenderers | undefined;
}): ReactElement {
  const words = useWords();
  const message = useMemo(() => viewOf(sent), [sent]);
  return (
    <div data-turnwire="sending">
      <Message message={message} render={render} />
      <small>{words.sending}</small>
    </div>
  );
}

function viewOf({ id, content }: UnconfirmedMessage): MessageView {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  const blocks = parts.map((part, at): BlockView => {
    const shared = { id: String(at), status: "complete" } as const;
    return part.type === "text"
      ? { ...shared, type: "text", text: part.text }
      : { ...shared, type: "block", block: part };
  });
  return { id, role: "user", blocks };
}

/** Asks before the page is left: what is not sent yet would be lost. */
function useLeaveWarning(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return;
    const warn = (event: BeforeUnloadEvent) => {
      event.preventDefault();
      event.returnValue = true; // for older browsers
    };
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, [isNeeded]);
}
