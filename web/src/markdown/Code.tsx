import { memo } from "react";
import { Copy } from "../app/Copy";
import { useWords } from "../app/words";
import { useHighlight } from "./highlight";
import { Unseen } from "./Unseen";

interface Props {
  code: string;
  language?: string | undefined;
  /** Whether it is complete. */
  isWhole?: boolean;
}

/** A code block with its language and a copy button. */
export const CodeBlock = memo(function CodeBlock({ code, language, isWhole = true }: Props) {
  const words = useWords();
  return (
    <figure className="code">
      <figcaption>
        <span>
          <Unseen text={language || words.code} />
        </span>
        <Copy text={code} />
      </figcaption>
      <pre tabIndex={0}>
        <Coloured code={code} language={language} isWhole={isWhole} />
      </pre>
    </figure>
  );
});

/** Only the code. */
export function Coloured({ code, language, isWhole = true }: Props) {
  const pieces = useHighlight(code, language?.toLowerCase(), isWhole);
  if (pieces === undefined) {
    return (
      <code>
        <Unseen text={code} />
      </code>
    );
  }
  return (
    <code>
      {pieces.map((piece, at) => (
        <span key={at} className={piece.kind || undefined}>
          <Unseen text={piece.text} />
        </span>
      ))}
    </code>
  );
}
