// A text file as a part of a message.

/** The most bytes of a text file. */
export const MOST_BYTES = 100_000;

/** Returns the text of a file; undefined if it is not a text, or too long. A PDF may look like one. */
export async function readText(file: File): Promise<string | undefined> {
  if (file.size > MOST_BYTES || file.type === "application/pdf") return undefined;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined; // not UTF-8
  }
}

/** Returns a file as an element in the text of a message. */
export function fileElement(name: string, text: string): string {
  const safe = name.replace(/[<>"&\n\r]/g, "_");
  // An end tag in the content would end the element too early.
  return `<file name="${safe}">\n${text.replaceAll("</file>", "<\\/file>").replace(/\n$/, "")}\n</file>`;
}

export interface TextPart {
  /** Of a file. */
  name?: string;
  text: string;
}

/** Returns the parts of a text, in order: the files that `fileElement` has put into it, and the text between them. */
export function fileParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let from = 0;
  const add = (between: string) => between.trim() && parts.push({ text: between.trim() });
  for (const { 0: whole, 1: name = "", 2: content = "", index } of text.matchAll(ELEMENT)) {
    add(text.slice(from, index));
    parts.push({ name, text: content.replaceAll("<\\/file>", "</file>") });
    from = index + whole.length;
  }
  add(text.slice(from));
  return parts;
}

const ELEMENT = /<file name="([^"\n]*)">\n?([\s\S]*?)\n?<\/file>/g;
