// The open requests of this conversation: one at a time, the oldest first.
import { ConversationRequests, useCurrentConversation } from "@turnwire/react";
import { useRef } from "react";
import { useRequestFocus } from "../app/focus";
import { useWords } from "../app/language";
import { Permission } from "./Permission";
import { QuestionForm } from "./QuestionForm";

export function Requests() {
  const words = useWords();
  const { id, view, answer, decide } = useCurrentConversation();
  const requests = view.status?.requests ?? [];
  const region = useRef<HTMLDivElement>(null);
  useRequestFocus(region, requests[0]?.request_id);
  if (!requests.length) return null;
  return (
    <div ref={region} className="requests" role="region" aria-label={words.waitsForYou} tabIndex={-1}>
      <ConversationRequests most={1}>
        {(request, place) =>
          request.kind === "question" ? (
            <QuestionForm conversation={id} request={request} answer={answer} />
          ) : (
            <Permission conversation={id} request={request} decide={decide} place={place} />
          )
        }
      </ConversationRequests>
      {requests.length > 1 && <p className="muted further">{words.further(requests.length - 1)}</p>}
    </div>
  );
}
