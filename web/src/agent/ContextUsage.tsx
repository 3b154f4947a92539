import type { ContextUsed } from "@turnwire/client";
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";
import { count } from "../words/numbers";

/** The use of the context, by category. */
export function ContextUsage({ used }: { used: ContextUsed }) {
  const words = useWords();
  const { total_tokens: total, max_tokens: most, percentage, model, parts = [] } = used;
  const percent = percentage ?? (most ? (total / most) * 100 : undefined);
  const facts = [
    words.agentPanel.used(count(total), most === undefined ? undefined : count(most)),
    ...(percent === undefined ? [] : [words.agentPanel.full(Math.round(percent))]),
    ...(model ? [model] : []),
  ];
  return (
    <>
      {most !== undefined && <progress max={most} value={total} aria-label={words.agentPanel.context} />}
      <p>{facts.join(" · ")}</p>
      {parts.length > 0 && (
        <ul className="parts" aria-label={words.agentPanel.parts}>
          {parts.map((part) => (
            <li key={part.name} className={isUsed(part.kind) ? undefined : "muted"}>
              <span className="name">
                <VisibleText text={part.name} />
              </span>
              {isUsed(part.kind) ? (
                <progress max={total || 1} value={part.tokens} aria-hidden="true" />
              ) : (
                <span />
              )}
              <span className="number">{count(part.tokens)}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** Free and deferred parts use nothing. */
function isUsed(kind: string | undefined): boolean {
  return kind === undefined || kind === "used";
}
