// The files that a tool changes, and how.
import { type DiffLine, diffOf, readDiff } from "./diff";
import { isObject, listIn, textIn } from "./reading";

export interface Change {
  path: string;
  lines: DiffLine[];
}

/** From the arguments of a call and, where the agent tells it, from what really changed. */
export function changesOf(input: unknown, details: unknown): Change[] {
  const told = listIn(input, "changes");
  if (told.length) {
    return told.map((each) => ({
      path: textIn(each, "path") ?? "",
      lines: readDiff(textIn(each, "diff") ?? ""),
    }));
  }
  const path = textIn(input, "file_path", "path", "notebook_path") ?? "";
  const patch = listIn(details, "structuredPatch");
  if (patch.length) return [{ path, lines: patch.flatMap(hunk) }];
  const edits = listIn(input, "edits");
  const all = edits.length ? edits : [input];
  const lines = all.flatMap((each) => {
    const after = textIn(each, "new_string", "content", "new_source") ?? "";
    return diffOf(textIn(each, "old_string") ?? "", after);
  });
  return [{ path, lines }];
}

function hunk(given: unknown): DiffLine[] {
  if (!isObject(given)) return [];
  const { oldStart, oldLines, newStart, newLines } = given;
  const head: DiffLine = { sign: "@", text: `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@` };
  const lines = listIn(given, "lines").filter((each) => typeof each === "string");
  return [head, ...readDiff(lines.join("\n"))];
}
