// Lines of a diff with their numbers, and in pairs of old and new.
import type { DiffLine } from "../tools/diff";

export interface NumberedLine extends DiffLine {
  /** The number in the old and in the new file; undefined: the line is not in it, or it is unknown. */
  old?: number | undefined;
  now?: number | undefined;
}

const PLACE = /^@@ -(\d+)(?:,\d+)? \+(\d+)/;

/**
 * Returns the lines with their numbers. A diff says where its parts are; a text without an old one
 * is the whole file. Where a part of a file is replaced, its place is not known: it has no numbers.
 */
export function numbered(lines: readonly DiffLine[]): NumberedLine[] {
  const isNew = lines.every(({ sign }) => sign === "+");
  let [old, now]: [number | undefined, number | undefined] = isNew ? [1, 1] : [undefined, undefined];
  return lines.map((line): NumberedLine => {
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
    if (line.sign !== "+" && old !== undefined) old += 1;
    if (line.sign !== "-" && now !== undefined) now += 1;
    return said;
  });
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
