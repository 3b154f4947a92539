// The lines of a comparison: their numbers, and the pairs of old and new. Without a browser.
import { expect, test } from "vitest";
import { numbered, pairsOf } from "../src/tools/comparedLines";
import { diffOf, readDiff } from "../src/tools/diff";
import { type Change, changesIn } from "../src/tools/fileChanges";

const numbers = ({ lines }: ReturnType<typeof numbered>) =>
  lines.map(({ sign, old, now }) => [sign, old, now]);

test("a diff numbers its lines from where it says that they are", () => {
  const found = numbered({ lines: readDiff("@@ -7,2 +9,3 @@\n same\n-old\n+new\n+more") });
  expect(numbers(found)).toEqual([
    ["@", undefined, undefined],
    [" ", 7, 9],
    ["-", 8, undefined],
    ["+", undefined, 10],
    ["+", undefined, 11],
  ]);
  expect(found.isRelative).toBe(false);
});

test("a new file and a deleted one are numbered from 1", () => {
  expect(numbers(numbered({ lines: diffOf("", "a\nb\n") })).map(([, , now]) => now)).toEqual([1, 2]);
  expect(numbers(numbered({ lines: diffOf("a\nb\n", "") })).map(([, old]) => old)).toEqual([1, 2]);
});

const EDITS = {
  file_path: "/a",
  edits: [
    { old_string: "x", new_string: "x\ny" },
    { old_string: "a\nb", new_string: "a\nc" },
  ],
};

test("a replaced text whose place is not known is numbered from 1, which is said", () => {
  const [change] = changesIn(EDITS).changes as [Change];
  const found = numbered(change, ({ text }) => (text === "x" ? 5 : undefined));
  expect(numbers(found)).toEqual([
    [" ", 1, 1],
    ["+", undefined, 2],
    ["@", undefined, undefined],
    [" ", 1, 1],
    ["-", 2, undefined],
    ["+", undefined, 2],
  ]);
  expect(found.isRelative).toBe(true);
});

test("replaced texts have the numbers of their places, moved by the edits above them", () => {
  const [change] = changesIn(EDITS).changes as [Change];
  const found = numbered(change, ({ text }) => (text === "x" ? 5 : 20));
  expect(numbers(found).slice(3)).toEqual([
    [" ", 20, 21],
    ["-", 21, undefined],
    ["+", undefined, 22],
  ]);
  expect(found.isRelative).toBe(false);
});

test("removed lines are next to added ones, and every line is shown once on its side", () => {
  const pairs = pairsOf(numbered({ lines: diffOf("a\nb\nc\n", "a\nx\ny\nc\n") }).lines);
  expect(pairs.map(([old, now]) => [old?.text, now?.text])).toEqual([
    ["a", "a"],
    ["b", "x"],
    [undefined, "y"],
    ["c", "c"],
  ]);
});
