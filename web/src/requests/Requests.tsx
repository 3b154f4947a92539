// The open requests of this conversation: one at a time, the oldest first, or all of them together.
import { AllPermissions, ConversationRequests, useCurrentConversation } from "@turnwire/react";
import { useRef, useState } from "react";
import { useRequestFocus } from "../app/focus";
import { useWords } from "../app/language";
import { useNotices } from "../app/Notices";
import { Permission } from "./Permission";
import { QuestionForm } from "./QuestionForm";

export function Requests() {
  const words = useWords();
  const { id, view, answer, decide } = useCurrentConversation();
  const requests = view.status?.requests ?? [];
  const { showRefusal } = useNotices();
  const [isAll, setAll] = useState(false);
  const region = useRef<HTMLDivElement>(null);
  useRequestFocus(region, requests[0]?.request_id);
  if (!requests.length) return null;
  const isSeveral = requests.length > 1;
  const showsAll = isAll && isSeveral;
  return (
    <div
      ref={region}
      className={`requests${showsAll ? " all" : ""}`}
      role="region"
      aria-label={words.waitsForYou}
      tabIndex={-1}
    >
      <ConversationRequests {...(showsAll ? {} : { most: 1 })}>
        {(request, place) => {
          const common = { conversation: id, request, ...(showsAll ? { role: "group" as const } : {}) };
          return request.kind === "question" ? (
            <QuestionForm {...common} answer={answer} />
          ) : (
            <Permission {...common} decide={decide} place={place} />
          );
        }}
      </ConversationRequests>
      {isSeveral && (
        <div className="further">
          {/* All are decided only where all are in sight. */}
          {showsAll && <AllPermissions className="choices" onRefused={showRefusal} />}
          {!showsAll && <span className="muted">{words.further(requests.length - 1)}</span>}
          <button type="button" className="quiet small" onClick={() => setAll(!showsAll)}>
            {showsAll ? words.allRequests.one : words.allRequests.show(requests.length)}
          </button>
        </div>
      )}
    </div>
  );
}
