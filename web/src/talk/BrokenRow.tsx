import { useWords } from "../app/words";
import { Cut } from "../markdown/Cut";
import { escapedUnseen } from "../markdown/Unseen";
import type { Row } from "./rows";

/** Maximum length; of a longer text only the beginning is shown. */
const BEGINNING = 10_000;

/** Shows a row that failed to render as raw data. Kept as simple as possible. */
export function BrokenRow({ row }: { row: Row | string }) {
  const words = useWords();
  return (
    <article className="row broken">
      <p className="bad">{words.brokenRow}</p>
      <Cut text={rawOf(row)} most={BEGINNING}>
        {(shown) => (
          <pre className="plain" tabIndex={0}>
            {shown}
          </pre>
        )}
      </Cut>
    </article>
  );
}

function rawOf(row: Row | string): string {
  if (typeof row === "string") return escapedUnseen(row);
  if (row.kind === "block" && (row.block.type === "text" || row.block.type === "thinking"))
    return escapedUnseen(row.block.text);
  const shown = row.kind === "turn" ? row.turn : row.kind === "said" ? row.message.blocks : row.block;
  try {
    return escapedUnseen(JSON.stringify(shown, null, 2) ?? "");
  } catch (problem) {
    return String(problem);
  }
}
