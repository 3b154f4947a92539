import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";
import { wholeTime } from "../words/times";
import { useIsPrinting } from "./printing";

interface Props {
  title: string;
  agent: string | undefined;
  /** When the conversation began. */
  at: string | undefined;
}

/** The title of a conversation, while it is printed. */
export function PrintTitle({ title, agent, at }: Props) {
  const words = useWords();
  const isPrinting = useIsPrinting();
  if (!isPrinting) return null;
  return (
    <div className="print-title">
      <h1>
        <VisibleText text={title} />
      </h1>
      <p>{[agent, at && wholeTime(at, words)].filter(Boolean).join(" · ")}</p>
    </div>
  );
}
