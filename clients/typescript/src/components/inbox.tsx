// The open requests of all conversations.
import type { ReactElement, ReactNode } from "react";
import { useInbox } from "../hooks.js";
import type { InboxItem } from "../http.js";
import { Permission, Question } from "./request.js";

export interface InboxProps {
  /** Shown above each item, for example a link to its conversation. */
  heading?: (item: InboxItem) => ReactNode;
  /** Shown if nothing waits. */
  empty?: ReactNode;
  className?: string;
}

/** Shows what waits for an answer, in all conversations, and lets a person answer it. */
export function Inbox({
  heading,
  empty = "Nothing waits for an answer.",
  className,
}: InboxProps): ReactElement {
  const { items, isLoaded, error, answer, decide } = useInbox();
  return (
    <section className={className} data-turnwire="inbox" aria-busy={!isLoaded}>
      {error && <p role="alert">{error.message}</p>}
      {isLoaded && !items.length && <p>{empty}</p>}
      {items.map((item) => (
        <article key={item.inbox_item_id}>
          {heading?.(item)}
          {item.request.kind === "question" ? (
            <Question request={item.request} answer={(_, words) => answer(item, words)} />
          ) : (
            <Permission request={item.request} decide={(_, decision, more) => decide(item, decision, more)} />
          )}
        </article>
      ))}
    </section>
  );
}
