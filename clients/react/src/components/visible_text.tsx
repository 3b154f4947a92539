// Text of an agent: shows characters that are invisible or change the order of others.
import { type ReactNode, useMemo } from "react";
import { hasInvisible, visibleParts } from "../headless/invisible.js";

/** Shows a text, each invisible character as its code, with this class. */
export function VisibleText({ text, className }: { text: string; className?: string }): ReactNode {
  return useMemo(() => {
    if (!hasInvisible(text)) return text;
    return visibleParts(text).map((part, at) =>
      typeof part === "string" ? (
        part
      ) : (
        <span key={at} className={className} data-turnwire="invisible">
          {part.code}
        </span>
      ),
    );
  }, [text, className]);
}
