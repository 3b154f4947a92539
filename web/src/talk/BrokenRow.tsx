import { useWords } from "../app/language";
import { LongText } from "../markdown/LongText";
import { escapeInvisible } from "../markdown/VisibleText";
import type { Row } from "./rows";

/** Maximum length; of a longer text only the beginning is shown. */
const BEGINNING = 10_000;

/** Shows a row that failed to render as raw data. Kept as simple as possible. */
export function BrokenRow({ row }: { row: Row | string }) {
  const words = useWords();
  return (
    <article className="row broken">
      <p className="bad">{words.brokenRow}</p>
      <LongText text={rawOf(row)} most={BEGINNING}>
        {(shown) => (
          <pre className="plain" tabIndex={0}>
            {shown}
          </pre>
        )}
      </LongText>
    </article>
  );
}

function rawOf(row: Row | string): string {
  if (typeof row === "string") return escapeInvisible(row);
  if (row.kind === "block" && (row.block.type === "text" || row.block.type === "thinking"))
    return escapeInvisible(row.block.text);
  if (row.kind === "day") return row.at;
  const shown = row.kind === "turn" ? row.turn : row.kind === "said" ? row.message.blocks : row.block;
  try {
    return escapeInvisible(JSON.stringify(shown, null, 2) ?? "");
  } catch (problem) {
    return String(problem);
  }
}
