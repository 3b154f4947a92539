// A whole conversation: its messages, its open requests and the field for the next message.
import type { ReactElement } from "react";
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
  const failure = view.turns.at(-1)?.end.error;
  return (
    <section className={className} data-turnwire="conversation" data-connection={connection}>
      {(view.first ?? 1) > 1 && (
        <button type="button" onClick={() => void loadOlder()}>
          {words.loadOlder}
        </button>
      )}
      <div role="log" aria-busy={view.status?.running === true}>
        {view.messages.map((message) => (
          <Message key={message.id} message={message} render={render} />
        ))}
      </div>
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
      {failure && !view.status?.running && <p role="alert">{failure.message}</p>}
      <p role="status">
        {error?.message ?? (connection === "connected" ? "" : words.connecting)}
        {unanswered.length > 0 && ` ${words.sending}`}
      </p>
      <Composer
        id={id}
        {...(placeholder === undefined ? {} : { placeholder })}
        {...(longPaste === undefined ? {} : { longPaste })}
      />
    </section>
  );
}
