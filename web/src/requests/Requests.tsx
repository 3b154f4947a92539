// The open requests of this conversation: one at a time, the oldest first.
import type { OpenRequest } from "@turnwire/client";
import type { Answer, Decide } from "@turnwire/react";
import { useRef } from "react";
import { useRequestFocus } from "../app/focus";
import { useWords } from "../app/language";
import { Permission } from "./Permission";
import { QuestionForm } from "./QuestionForm";

interface Props {
  /** The conversation. */
  id: string;
  requests: readonly OpenRequest[];
  answer: Answer;
  decide: Decide;
}

export function Requests({ id, requests, answer, decide }: Props) {
  const words = useWords();
  const [request] = requests;
  const region = useRef<HTMLDivElement>(null);
  useRequestFocus(region, request?.request_id);
  if (!request) return null;
  return (
    <div ref={region} className="requests" role="region" aria-label={words.waitsForYou} tabIndex={-1}>
      {request.kind === "question" ? (
        <QuestionForm key={request.request_id} conversation={id} request={request} answer={answer} />
      ) : (
        <Permission key={request.request_id} conversation={id} request={request} decide={decide} place={0} />
      )}
      {requests.length > 1 && <p className="muted further">{words.further(requests.length - 1)}</p>}
    </div>
  );
}
