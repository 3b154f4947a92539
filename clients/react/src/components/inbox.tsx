// The open requests of all conversations.

import type { InboxItem } from "@turnwire/client";
import type { ReactElement, ReactNode } from "react";
import { useInbox } from "../hooks.js";
import { Permission } from "./permission.js";
import { Question } from "./question.js";
import { useWords } from "./words.js";

export interface InboxProps {
  /** Shown above each item, for example a link to its conversation. */
  heading?: (item: InboxItem) => ReactNode;
  /** Shown if nothing waits. */
  empty?: ReactNode;
  className?: string;
}

/** Shows what waits for an answer, in all conversations, and lets a person answer it. */
export function Inbox({ heading, empty, className }: InboxProps): ReactElement {
  const words = useWords();
  const { answer, decide } = useInbox();
  return (
    <InboxList
      className={className}
      empty={<p>{empty ?? words.nothingWaits}</p>}
      failed={(error) => <p role="alert">{error.message}</p>}
      item={(item, place) => (
        <article>
          {heading?.(item)}
          {item.request.kind === "question" ? (
            <Question request={item.request} answer={(_, given) => answer(item, given)} />
          ) : (
            <Permission
              request={item.request}
              decide={(_, decision, more) => decide(item, decision, more)}
              place={place}
            />
          )}
        </article>
      )}
    />
  );
}

export interface InboxListProps {
  item: (item: InboxItem, place: number) => ReactNode;
  /** Shown if nothing waits. */
  empty?: ReactNode;
  /** Shown while the inbox cannot be loaded. */
  failed?: (error: Error) => ReactNode;
  className?: string | undefined;
}

/** The list of the inbox, live, with items that you draw yourself. */
export function InboxList({ item, empty, failed, className }: InboxListProps): ReactElement {
  const { items, isLoaded, error } = useInbox();
  return (
    <section data-turnwire="inbox" aria-busy={!isLoaded}>
      {error && failed?.(error)}
      {isLoaded && !error && !items.length && empty}
      <ul className={className}>
        {items.map((each, place) => (
          <li key={each.inbox_item_id}>{item(each, place)}</li>
        ))}
      </ul>
    </section>
  );
}
