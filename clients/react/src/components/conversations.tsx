// The list of conversations, as links.

import type { ConversationInfo } from "@turnwire/client";
import type { ListFilter } from "@turnwire/client/lists";
import type { ReactElement } from "react";
import { useConversations } from "../hooks.js";
import { VisibleText } from "./visible_text.js";
import { useWords, type Words } from "./words.js";

export interface ConversationsProps extends ListFilter {
  /** The address of a conversation in your page. */
  href: (id: string) => string;
  /** The conversation that is shown. */
  current?: string | undefined;
  className?: string;
}

/** Shows the conversations, live: pinned ones first, then the newest first. */
export function Conversations({ href, current, className, ...filter }: ConversationsProps): ReactElement {
  const words = useWords();
  const { conversations, isLoaded, hasMore, error, loadMore } = useConversations(filter);
  return (
    <nav className={className} data-turnwire="conversations" aria-busy={!isLoaded}>
      {error && <p role="alert">{error.message}</p>}
      <ul>
        {conversations.map((each) => (
          <li key={each.id}>
            <a href={href(each.id)} aria-current={each.id === current ? "page" : undefined}>
              <VisibleText text={each.title ?? words.untitled} />
            </a>{" "}
            <small>{stateOf(each, words)}</small>
          </li>
        ))}
      </ul>
      {hasMore && (
        <button type="button" onClick={() => void loadMore()}>
          {words.loadMore}
        </button>
      )}
    </nav>
  );
}

/** What a conversation waits for, or that it works; nothing if it is at rest. */
function stateOf({ status: { requests, running } }: ConversationInfo, words: Words): string | undefined {
  const [request] = requests;
  if (request) return request.kind === "question" ? words.needsAnswer : words.needsPermission;
  return running ? words.running : undefined;
}
