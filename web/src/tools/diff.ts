// The difference of two texts, line by line.

export interface DiffLine {
  sign: " " | "+" | "-" | "@";
  text: string;
}

/**
 * Above this size, all old lines are removed and all new lines are added, because comparing takes
 * too long.
 */
const MOST = 4_000_000;

export function diffOf(before: string, after: string): DiffLine[] {
  // If both texts end with a newline, neither has an empty last line; if only one does, that is a
  // change.
  const isEnded = [before, after].every((text) => !text || text.endsWith("\n"));
  const linesOf = (text: string) => (text ? (isEnded ? text.slice(0, -1) : text).split("\n") : []);
  const [old, now] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1;
  const middle = compare(old.slice(start, old.length - end), now.slice(start, now.length - end));
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ sign: " ", text }));
  return [...same(old.slice(0, start)), ...middle, ...same(old.slice(old.length - end))];
}

/** Keeps the longest common subsequence of lines. */
function compare(old: string[], now: string[]): DiffLine[] {
  const gone = (text: string): DiffLine => ({ sign: "-", text });
  const come = (text: string): DiffLine => ({ sign: "+", text });
  if (!old.length || !now.length || old.length * now.length > MOST)
    return [...old.map(gone), ...now.map(come)];
  const width = now.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = now.length - 1; j >= 0; j -= 1) {
      const below = lengths[(i + 1) * width + j] ?? 0;
      const right = lengths[i * width + j + 1] ?? 0;
      const both = (lengths[(i + 1) * width + j + 1] ?? 0) + 1;
      lengths[i * width + j] = old[i] === now[j] ? both : Math.max(below, right);
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      lines.push({ sign: " ", text: old[i] as string });
      i += 1;
      j += 1;
    } else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) {
      lines.push(gone(old[i++] as string));
    } else {
      lines.push(come(now[j++] as string));
    }
  }
  return [...lines, ...old.slice(i).map(gone), ...now.slice(j).map(come)];
}

const PLACE = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;

/**
 * Reads a unified diff. Drops the file names before the first hunk if they match `path`. Otherwise
 * keeps every line, because a name can also be a removed or added line.
 */
export function readDiff(diff: string, path?: string): DiffLine[] {
  const lines = diff.replace(/\n$/, "").split("\n");
  const shown = lines.slice(headLength(lines, path));
  /** Lines left in this hunk: of the old and of the new text. */
  let [old, now] = [0, 0];
  let isAfter = false;
  return shown.map((line): DiffLine => {
    const isInside = old > 0 || now > 0;
    const place = isInside ? null : PLACE.exec(line);
    if (place) {
      [old, now] = [Number(place[1] ?? 1), Number(place[2] ?? 1)];
      isAfter = true;
      return { sign: "@", text: line };
    }
    if (isAfter && !isInside && NAMES.test(line)) return { sign: "@", text: line }; // another file
    const read = readLine(line);
    if (read.sign !== "+" && !line.startsWith("\\")) old -= 1;
    if (read.sign !== "-" && !line.startsWith("\\")) now -= 1;
    return read;
  });
}

/** Reads a line of a diff that is not a file name. */
export function readLine(line: string): DiffLine {
  const sign = line[0];
  if (sign === "+" || sign === "-" || sign === " ") return { sign, text: line.slice(1) };
  return line.startsWith("@@") ? { sign: "@", text: line } : { sign: " ", text: line };
}

const NAMES = /^(?:diff |index |--- |\+\+\+ )/;

/** Returns the number of lines before the first hunk that only name this file. */
function headLength(lines: readonly string[], path: string | undefined): number {
  const first = lines.findIndex((line) => PLACE.test(line));
  const head = lines.slice(0, Math.max(first, 0));
  const isHead = head.at(-2)?.startsWith("--- ") && head.at(-1)?.startsWith("+++ ");
  const isKnown = (line: string) => {
    const name = (line.slice(4).split("\t")[0] ?? "").replace(/^[ab]\//, "");
    return path === undefined || name === "/dev/null" || `/${path}`.endsWith(`/${name}`);
  };
  const isOwn = isHead && head.slice(-2).every(isKnown) && head.every((line) => NAMES.test(line));
  return isOwn ? head.length : 0;
}
