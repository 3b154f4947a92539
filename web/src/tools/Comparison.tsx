// What changes in a file: line by line with numbers and colours, side by side where there is room.
import { type ReactNode, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useWords } from "../app/language";
import { useHighlight } from "../markdown/highlight";
import type { Piece } from "../markdown/languages";
import { VisibleText } from "../markdown/VisibleText";
import { type LineOf, type NumberedLine, numbered, pairsOf } from "./comparedLines";
import type { Change } from "./fileChanges";

/** Lines that are shown first. */
const FIRST = 400;
/** Pixels that two columns need. */
const WIDE = 820;

const SIGNS = { " ": undefined, "+": "added", "-": "removed", "@": "place" } as const;

interface Props {
  change: Change;
  /** Where replaced texts are in their files. */
  lineOf?: LineOf | undefined;
}

export function Comparison({ change, lineOf }: Props) {
  const words = useWords();
  const figure = useRef<HTMLElement>(null);
  const [isWide, setWide] = useState(false);
  const [isAll, setAll] = useState(false);
  useLayoutEffect(() => {
    if (!figure.current) return;
    const observer = new ResizeObserver(([entry]) => setWide((entry?.contentRect.width ?? 0) >= WIDE));
    observer.observe(figure.current);
    return () => observer.disconnect();
  }, []);
  const { lines, isRelative } = useMemo(() => numbered(change, lineOf), [change, lineOf]);
  const language = /\.(\w+)$/.exec(change.path)?.[1]?.toLowerCase();
  const before = useColours(lines, "-", language);
  const after = useColours(lines, "+", language);
  const colours = (line: NumberedLine) => (line.sign === "-" ? before : after)?.get(line);
  const counts = { "+": 0, "-": 0 };
  for (const { sign } of lines) if (sign === "+" || sign === "-") counts[sign] += 1;
  const shown = isAll ? lines : lines.slice(0, FIRST);
  const isBoth = isWide && counts["+"] > 0 && counts["-"] > 0;
  const draw = (line: NumberedLine | undefined, at: number) => (
    <Line key={at} line={line} colours={line && colours(line)} />
  );
  return (
    <figure ref={figure} className={`diff comparison${isBoth ? " both" : ""}`}>
      <figcaption>
        <span className="path">
          <VisibleText text={change.path} />
        </span>
        <span className="added">+{counts["+"]}</span> <span className="removed">−{counts["-"]}</span>
      </figcaption>
      {isRelative && <p className="muted">{words.relativeLines}</p>}
      {isBoth ? (
        <div className="sides">
          <pre tabIndex={0}>{pairsOf(shown).map(([old], at) => draw(old, at))}</pre>
          <pre tabIndex={0}>{pairsOf(shown).map(([, now], at) => draw(now, at))}</pre>
        </div>
      ) : (
        <pre tabIndex={0}>{shown.map(draw)}</pre>
      )}
      {shown.length < lines.length && (
        <button type="button" className="quiet small" onClick={() => setAll(true)}>
          {words.moreLines(lines.length - shown.length)}
        </button>
      )}
    </figure>
  );
}

/** One line. An empty one is the gap next to a line that only the other side has. */
function Line({ line, colours }: { line: NumberedLine | undefined; colours: Piece[] | undefined }) {
  if (!line) return <div className="gap"> </div>;
  const text: ReactNode = colours
    ? colours.map((piece, at) => (
        <span key={at} className={piece.kind || undefined}>
          <VisibleText text={piece.text} />
        </span>
      ))
    : line.text && <VisibleText text={line.text} />;
  return (
    <div className={SIGNS[line.sign]} data-old={line.old} data-now={line.now}>
      <span aria-hidden="true">{line.sign === "@" ? " " : line.sign}</span>
      {text}
    </div>
  );
}

/** Returns the coloured pieces of each line of one side, once they are ready. */
function useColours(
  lines: NumberedLine[],
  side: "-" | "+",
  language: string | undefined,
): Map<NumberedLine, Piece[]> | undefined {
  const own = lines.filter(({ sign }) => sign === side || sign === " ");
  const pieces = useHighlight(own.map(({ text }) => text).join("\n"), language, true);
  if (!pieces) return undefined;
  const found: Piece[][] = [[]];
  for (const { text, kind } of pieces)
    text.split("\n").forEach((part, at) => {
      if (at) found.push([]);
      if (part) found.at(-1)?.push({ text: part, kind });
    });
  return new Map(own.map((line, at) => [line, found[at] ?? []]));
}
