// Characters that are invisible, or change the order of others. A person must see them before deciding.

const ONE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/u;
const ALL = /* @__PURE__ */ new RegExp(ONE.source, "gu");

export function hasInvisible(text: string): boolean {
  return ONE.test(text);
}

/** Returns the JSON with all invisible characters as `\\u...`. */
export function escapeInvisible(json: string): string {
  const unit = (each: string) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return json.replace(ALL, (found) => found.split("").map(unit).join(""));
}

/** Returns the text in pieces: invisible characters as `{ code: "U+200B" }`, the rest as it is. */
export function visibleParts(text: string): (string | { code: string })[] {
  const parts: (string | { code: string })[] = [];
  let from = 0;
  for (const found of text.matchAll(ALL)) {
    parts.push(text.slice(from, found.index));
    parts.push({ code: `U+${found[0].codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}` });
    from = found.index + found[0].length;
  }
  parts.push(text.slice(from));
  return parts;
}
