// Makes characters visible that are invisible or change the order of others.
import { type ReactNode, useMemo } from "react";

const ONE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
const ALL = new RegExp(ONE.source, "gu");

export function hasInvisible(text: string): boolean {
  return ONE.test(text);
}

/** Returns the JSON with all invisible characters as `\\u...`. */
export function escapeInvisible(json: string): string {
  const unit = (each: string) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(ALL, (found) => found.split("").map(unit).join(""));
}

export function VisibleText(props: { text: string }) {
  return useMemo(() => reveal(props.text), [props.text]);
}

function reveal(text: string): ReactNode {
  if (!hasInvisible(text)) return text;
  const parts: ReactNode[] = [];
  let from = 0;
  for (const found of text.matchAll(ALL)) {
    parts.push(text.slice(from, found.index));
    const code = `U+${found[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
    parts.push(
      <span key={found.index} className="unseen">
        {code}
      </span>,
    );
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}
