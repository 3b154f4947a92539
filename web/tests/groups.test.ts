// Conversations are grouped by the day of their newest news. Without a browser.
import type { ConversationInfo } from "@turnwire/client";
import { expect, test } from "vitest";
import { groupsOf, usualDirectory } from "../src/conversations/groups";

const now = new Date(2026, 4, 20, 15);
const at = (days: number, hours: number, more: object = {}) =>
  ({ updated_at: new Date(2026, 4, 20 - days, hours).toISOString(), ...more }) as ConversationInfo;

test("a conversation is in the group of its day, and a pinned one first", () => {
  const all = [at(40, 9, { pinned: true }), at(0, 0), at(1, 23), at(1, 0), at(2, 23), at(6, 1), at(7, 23)];
  const groups = groupsOf(all, now).map(({ name, all }) => [name, all.length]);
  expect(groups).toEqual([
    ["pinned", 1],
    ["today", 1],
    ["yesterday", 2],
    ["week", 2],
    ["older", 1],
  ]);
});

test("the usual directory is the one of most conversations", () => {
  expect(usualDirectory([at(0, 0, { cwd: "/a" }), at(0, 0, { cwd: "/b" }), at(0, 0, { cwd: "/a" })])).toBe(
    "/a",
  );
  expect(usualDirectory([])).toBe(undefined);
});
