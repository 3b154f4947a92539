// Colours for code. Loaded when the first code is shown, and not before.
import { useEffect, useState } from "react";
import type { Highlighter, Piece } from "./languages";

let highlighter: Highlighter | undefined;
let loading: Promise<void> | undefined;

/** More than this is not coloured: it would take long, and nobody reads it. */
const MOST = 40_000;

function load(): Promise<void> {
  loading ??= import("./languages").then((loaded) => {
    highlighter = loaded.highlight;
  });
  return loading;
}

/** The code in colours, or nothing as long as there are none. */
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
