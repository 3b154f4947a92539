import { type ReactNode, useState } from "react";
import { useWords } from "../app/language";

/** The beginning of a very long text, and a button to show all of it. */
export function LongText({
  text,
  most,
  children,
}: {
  text: string;
  most: number;
  children: (shown: string) => ReactNode;
}) {
  const words = useWords();
  const [isAll, setAll] = useState(false);
  const isCut = !isAll && text.length > most;
  return (
    <>
      {children(isCut ? text.slice(0, most) : text)}
      {isCut && (
        <button type="button" className="small show-all" onClick={() => setAll(true)}>
          {words.showAll(text.length)}
        </button>
      )}
    </>
  );
}
