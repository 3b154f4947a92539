// The markup that agents put into messages and results, for their models: drawn as what it means.

export interface MarkupPart {
  kind: "text" | "error" | "reminder" | "command" | "output" | "file";
  text: string;
  /** Of a file that a person has added. */
  name?: string;
}

const KINDS: Record<string, MarkupPart["kind"]> = {
  tool_use_error: "error",
  "system-reminder": "reminder",
  "command-name": "command",
  "local-command-stdout": "output",
  "local-command-stderr": "error",
  "bash-input": "command",
  "bash-stdout": "output",
  "bash-stderr": "error",
};
/** Elements that repeat another one, or are for the model only. */
const DROPPED = new Set(["command-message", "local-command-caveat", "command-contents"]);
const ELEMENT = new RegExp(
  `<(${[...Object.keys(KINDS), ...DROPPED, "command-args", "file"].join("|")})(?: name="([^"\n]*)")?>([\\s\\S]*?)</\\1>`,
  "g",
);

/** A block of code, which stays as it is, or a note. */
const CODE_OR_REMINDER =
  /^(```|~~~)[\s\S]*?(?:^\1|(?![\s\S]))|^<system-reminder>([\s\S]*?)<\/system-reminder>[ \t]*$/gm;

/** Returns the parts of an answer: Markdown, and notes of the agent to its model. */
export function answerParts(text: string): MarkupPart[] {
  const parts: MarkupPart[] = [];
  let from = 0;
  const add = (kind: MarkupPart["kind"], text: string) => text.trim() && parts.push({ kind, text });
  for (const { index, 0: whole, 2: note } of text.matchAll(CODE_OR_REMINDER)) {
    if (note === undefined) continue;
    add("text", text.slice(from, index));
    add("reminder", note.trim());
    from = index + whole.length;
  }
  if (from === 0) return [{ kind: "text", text }];
  add("text", text.slice(from));
  return parts;
}

/** Returns the parts of a text, in order. A text without such markup is one part. */
export function markupParts(text: string): MarkupPart[] {
  if (!text.includes("</")) return [{ kind: "text", text }];
  const parts: MarkupPart[] = [];
  let from = 0;
  const add = (kind: MarkupPart["kind"], content: string) => {
    if (content.trim()) parts.push({ kind, text: kind === "text" ? content : content.trim() });
  };
  for (const found of text.matchAll(ELEMENT)) {
    const [whole, name = "", file, content = ""] = found;
    if ((name === "file") !== (file !== undefined)) continue; // an element of another meaning
    add("text", text.slice(from, found.index));
    from = found.index + whole.length;
    const before = parts.at(-1);
    if (file !== undefined) parts.push({ kind: "file", text: content.trim(), name: file });
    else if (name === "command-args") {
      if (before?.kind === "command" && content.trim()) before.text += ` ${content.trim()}`;
    } else if (!DROPPED.has(name)) add(KINDS[name] ?? "text", content);
  }
  if (from === 0) return [{ kind: "text", text }];
  add("text", text.slice(from));
  return parts.map((part) => (part.kind === "text" ? { ...part, text: part.text.trim() } : part));
}
