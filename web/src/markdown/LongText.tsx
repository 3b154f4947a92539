import type { ReactNode } from "react";
import { useWords } from "../app/language";
import { useShowAll } from "./soughtText";

interface Props {
  text: string;
  most: number;
  children: (shown: string) => ReactNode;
}

/** The beginning of a very long text, and a button to show all of it. */
export function LongText({ text, most, children }: Props) {
  const words = useWords();
  const [isAll, showAll] = useShowAll(() => text.slice(most));
  const isCut = !isAll && text.length > most;
  return (
    <>
      {children(isCut ? text.slice(0, most) : text)}
      {isCut && (
        <button type="button" className="small show-all" onClick={showAll}>
          {words.showAll(text.length)}
        </button>
      )}
    </>
  );
}
