import { memo } from "react";
import { CopyButton } from "../app/CopyButton";
import { useWords } from "../app/language";
import { useHighlight } from "./highlight";
import { VisibleText } from "./VisibleText";

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
          <VisibleText text={language === "mermaid" ? words.diagram : language || words.code} />
        </span>
        <CopyButton text={code} />
      </figcaption>
      <CodeText code={code} language={language} isWhole={isWhole} />
    </figure>
  );
});

/** A code block without its caption. */
export function CodeText(props: Props) {
  return (
    <pre tabIndex={0}>
      <Coloured {...props} />
    </pre>
  );
}

/** Only the code. */
export function Coloured({ code, language, isWhole = true }: Props) {
  const pieces = useHighlight(code, language?.toLowerCase(), isWhole);
  if (pieces === undefined) {
    return (
      <code>
        <VisibleText text={code} />
      </code>
    );
  }
  return (
    <code>
      {pieces.map((piece, at) => (
        <span key={at} className={piece.kind || undefined}>
          <VisibleText text={piece.text} />
        </span>
      ))}
    </code>
  );
}
