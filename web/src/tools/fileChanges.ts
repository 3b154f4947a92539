// The files that a tool changes, and their changes.
import { type DiffLine, diffOf, readDiff, readLine } from "./diff";
import { fieldOf, isObject, type Json, listIn, without } from "./toolValues";

export interface Change {
  path: string;
  lines: DiffLine[];
  /** The texts that are replaced, of a file whose other lines are not known. */
  parts?: Part[];
}

/** A text that is replaced. */
export interface Part {
  /** The index of its first line. */
  at: number;
  path: string;
  text: string;
}

/**
 * Returns the changes from the input of a call and, if the agent reports them, from the actual
 * changes.
 */
export function changesOf(input: unknown, details: unknown): Change[] {
  const { changes } = changesIn(isObject(input) ? input : {});
  const shown = listIn(details, "content").flatMap(beforeAndAfter);
  if (shown.length && !changes.some(({ lines }) => lines.length)) return shown;
  const patch = listIn(details, "structuredPatch");
  if (!patch.length || listIn(input, "changes").length) return changes;
  return [{ path: changes[0]?.path ?? "", lines: patch.flatMap(hunk) }];
}

/** Returns the changes, and the arguments that they do not show. */
export function changesIn(input: Json): { changes: Change[]; rest: Json | undefined } {
  const told = listIn(input, "changes");
  if (told.length) {
    const read = told.map(changeIn);
    const rest = { ...without(input, "changes"), ...restOf("changes", read) };
    return { changes: read.map(({ change }) => change), rest: without(rest) };
  }
  const texts = listIn(input, "content");
  const read = texts.flatMap(beforeAndAfter);
  if (read.length && read.length === texts.length) return { changes: read, rest: without(input, "content") };
  const path = fieldOf(input, "file_path", "filePath", "path", "notebook_path");
  const own = without(input, path?.name) ?? {};
  const edits = listIn(own, "edits");
  if (!edits.length) {
    const edit = editOf(own);
    const { rest, lines } = edit;
    return { changes: path || lines.length ? [oneOf(path?.text ?? "", [edit])] : [], rest };
  }
  const many = edits.map((each) => (isObject(each) ? editOf(each) : { lines: [], rest: each }));
  const rest = { ...without(own, "edits"), ...restOf("edits", many) };
  return { changes: [oneOf(path?.text ?? "", many)], rest: without(rest) };
}

/** Returns the edits of one file as one change, with a gap between them. */
function oneOf(path: string, edits: { lines: DiffLine[]; text?: string | undefined }[]): Change {
  const lines: DiffLine[] = [];
  const parts: Part[] = [];
  for (const edit of edits) {
    if (lines.length && edit.lines.length) lines.push({ sign: "@", text: "" });
    if (edit.text) parts.push({ at: lines.length, path, text: edit.text });
    lines.push(...edit.lines);
  }
  return { path, lines, ...(parts.length ? { parts } : {}) };
}

/** Returns the rest of each change, by its index, if there is any. */
function restOf(name: string, read: { rest: unknown }[]): Json {
  return read.some(({ rest }) => rest !== undefined)
    ? { [name]: read.map(({ rest }) => (rest === undefined ? {} : rest)) }
    : {};
}

/** Reads one of several changes: a file and its diff. */
function changeIn(given: unknown): { change: Change; rest: unknown } {
  if (!isObject(given)) return { change: { path: "", lines: [] }, rest: given };
  const [path, diff] = [fieldOf(given, "path"), fieldOf(given, "diff")];
  const lines = diff ? readDiff(diff.text, path?.text) : [];
  return { change: { path: path?.text ?? "", lines }, rest: without(given, path?.name, diff?.name) };
}

/** Whether the content of the input is the text of files, before and after. */
export function hasTexts(input: Json): boolean {
  return listIn(input, "content").flatMap(beforeAndAfter).length > 0;
}

/** Reads a file of an ACP agent: its text before and after. */
function beforeAndAfter(given: unknown): Change[] {
  if (!isObject(given) || given.type !== "diff" || typeof given.newText !== "string") return [];
  const before = typeof given.oldText === "string" ? given.oldText : "";
  const lines = diffOf(before, given.newText);
  return [oneOf(fieldOf(given, "path")?.text ?? "", [{ lines, text: before }])];
}

/** Reads an edit: an old and a new text. `text`: the old one. */
function editOf(given: Json): { lines: DiffLine[]; rest: Json | undefined; text: string | undefined } {
  const before = fieldOf(given, "old_string", "oldString");
  const after = fieldOf(given, "new_string", "newString", "content", "new_source");
  return {
    lines: diffOf(before?.text ?? "", after?.text ?? ""),
    rest: without(given, before?.name, after?.name),
    text: before?.text,
  };
}

function hunk(given: unknown): DiffLine[] {
  if (!isObject(given)) return [];
  const { oldStart, oldLines, newStart, newLines } = given;
  const head: DiffLine = { sign: "@", text: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@` };
  const lines = listIn(given, "lines").filter((each) => typeof each === "string");
  return [head, ...lines.map(readLine)];
}
