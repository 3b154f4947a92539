// What has changed between two texts, line by line.

export interface DiffLine {
  sign: " " | "+" | "-" | "@";
  text: string;
}

/** Where comparing would take too long, all that was there goes and all that is there comes. */
const MOST = 4_000_000;

export function diffOf(before: string, after: string): DiffLine[] {
  // Where both end with a line, there is no empty one behind it; where only one does, that is a change.
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

/** The longest common lines stay. */
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

/** A unified diff, as lines. */
export function readDiff(diff: string): DiffLine[] {
  return diff
    .replace(/\n$/, "")
    .split("\n")
    .flatMap((line): DiffLine[] => {
      if (/^(---|\+\+\+|diff |index )/.test(line)) return [];
      if (line.startsWith("@@")) return [{ sign: "@", text: line }];
      const sign = line[0] === "+" || line[0] === "-" ? line[0] : " ";
      return [{ sign, text: line.slice(1) }];
    });
}
