import type { ContextUsed } from "@turnwire/client";
import { useWords } from "../app/words";
import { Unseen } from "../markdown/Unseen";
import { count } from "../words/numbers";

/** The use of the context, by category. */
export function Context({ used }: { used: ContextUsed }) {
  const words = useWords();
  const { total_tokens: total, max_tokens: most, percentage, model, parts = [] } = used;
  const percent = percentage ?? (most ? (total / most) * 100 : undefined);
  const facts = [
    words.beside.used(count(total), most === undefined ? undefined : count(most)),
    ...(percent === undefined ? [] : [words.beside.full(Math.round(percent))]),
    ...(model ? [model] : []),
  ];
  return (
    <>
      {most !== undefined && <progress max={most} value={total} aria-label={words.beside.context} />}
      <p>{facts.join(" · ")}</p>
      {parts.length > 0 && (
        <ul className="parts" aria-label={words.beside.parts}>
          {parts.map((part) => (
            <li key={part.name} className={isUsed(part.kind) ? undefined : "muted"}>
              <span className="name">
                <Unseen text={part.name} />
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
