// The lines of a comparison: their numbers, and the pairs of old and new. Without a browser.
import { expect, test } from "vitest";
import { numbered, pairsOf } from "../src/requests/comparedLines";
import { diffOf, readDiff } from "../src/tools/diff";

const numbers = (lines: ReturnType<typeof numbered>) => lines.map(({ sign, old, now }) => [sign, old, now]);

test("a diff numbers its lines from where it says that they are", () => {
  const lines = numbered(readDiff("@@ -7,2 +9,3 @@\n same\n-old\n+new\n+more"));
  expect(numbers(lines)).toEqual([
    ["@", undefined, undefined],
    [" ", 7, 9],
    ["-", 8, undefined],
    ["+", undefined, 10],
    ["+", undefined, 11],
  ]);
});

test("a new file is numbered from 1; a replaced part of a file has no numbers", () => {
  expect(numbers(numbered(diffOf("", "a\nb\n"))).map(([, , now]) => now)).toEqual([1, 2]);
  expect(numbers(numbered(diffOf("a", "b"))).flat()).toEqual([
    "-",
    undefined,
    undefined,
    "+",
    undefined,
    undefined,
  ]);
});

test("removed lines are next to added ones, and every line is shown once on its side", () => {
  const pairs = pairsOf(numbered(diffOf("a\nb\nc\n", "a\nx\ny\nc\n")));
  expect(pairs.map(([old, now]) => [old?.text, now?.text])).toEqual([
    ["a", "a"],
    ["b", "x"],
    [undefined, "y"],
    ["c", "c"],
  ]);
});
