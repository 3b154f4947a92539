// Syntax highlighting, loaded with the first code.
import { useEffect, useState } from "react";
import type { Highlighter, Piece } from "./languages";

let highlighter: Highlighter | undefined;
let loading: Promise<void> | undefined;

/** Longer code is not highlighted: it would take too long. */
const MOST = 40_000;

function load(): Promise<void> {
  loading ??= import("./languages").then((loaded) => {
    highlighter = loaded.highlight;
  });
  return loading;
}

/** Returns the highlighted code; undefined until it is ready. */
export function useHighlight(
  code: string,
  language: string | undefined,
  isWhole: boolean,
): Piece[] | undefined {
  const [pieces, setPieces] = useState<Piece[]>();
  useEffect(() => {
    setPieces(undefined);
    if (!language || !isWhole || code.length > MOST) return;
    let isGone = false;
    void load().then(() => {
      if (!isGone) setPieces(highlighter?.(code, language));
    });
    return () => {
      isGone = true;
    };
  }, [code, language, isWhole]);
  return pieces;
}
