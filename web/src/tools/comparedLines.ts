// Lines of a diff with their numbers, and in pairs of old and new.
import type { DiffLine } from "./diff";
import type { Change, Part } from "./fileChanges";

export interface NumberedLine extends DiffLine {
  /** The number in the old and in the new file; undefined: the line is not in it, or it is unknown. */
  old?: number | undefined;
  now?: number | undefined;
}

/** Returns the line at which a replaced text begins; undefined if it is not known. */
export type LineOf = (part: Part) => number | undefined;

const PLACE = /^@@ -(\d+)(?:,\d+)? \+(\d+)/;

/**
 * Returns the lines with their numbers. A diff says where its parts are; a text without an old one
 * is the whole file. The place of a replaced text may be known. Otherwise the lines of each replaced
 * text are numbered from 1: they are `isRelative`, which has to be said.
 */
export function numbered(
  { lines, parts = [] }: Pick<Change, "lines" | "parts">,
  lineOf: LineOf = () => undefined,
): { lines: NumberedLine[]; isRelative: boolean } {
  const isRelative = parts.some((part) => lineOf(part) === undefined);
  const starts = new Map(parts.map((part) => [part.at, isRelative ? undefined : lineOf(part)]));
  const isWhole = !parts.length && ["+", "-"].some((sign) => lines.every((line) => line.sign === sign));
  let [old, now]: [number | undefined, number | undefined] = isWhole ? [1, 1] : [undefined, undefined];
  /** Of each edit: where it begins, and by how many lines it makes the file longer. */
  const grown: [number, number][] = [];
  const numberedLines = lines.map((line, at): NumberedLine => {
    if (starts.has(at)) {
      old = starts.get(at) ?? 1;
      const from = old;
      now = grown.reduce((sum, [start, more]) => sum + (start < from && !isRelative ? more : 0), old);
      grown.push([old, 0]);
    }
    const place = line.sign === "@" ? PLACE.exec(line.text) : null;
    if (line.sign === "@") {
      [old, now] = place ? [Number(place[1]), Number(place[2])] : [undefined, undefined];
      return line;
    }
    const said = {
      ...line,
      old: line.sign === "+" ? undefined : old,
      now: line.sign === "-" ? undefined : now,
    };
    const edit = grown.at(-1);
    if (edit && line.sign !== " ") edit[1] += line.sign === "+" ? 1 : -1;
    if (line.sign !== "+" && old !== undefined) old += 1;
    if (line.sign !== "-" && now !== undefined) now += 1;
    return said;
  });
  return { lines: numberedLines, isRelative };
}

/** Returns the lines of both sides next to each other. Removed lines are next to added ones. */
export function pairsOf(lines: readonly NumberedLine[]): [NumberedLine?, NumberedLine?][] {
  const pairs: [NumberedLine?, NumberedLine?][] = [];
  let removed: NumberedLine[] = [];
  let added: NumberedLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1)
      pairs.push([removed[at], added[at]]);
    [removed, added] = [[], []];
  };
  for (const line of lines) {
    if (line.sign === "-") {
      if (added.length) flush();
      removed.push(line);
    } else if (line.sign === "+") added.push(line);
    else {
      flush();
      pairs.push([line, line]);
    }
  }
  flush();
  return pairs;
}
