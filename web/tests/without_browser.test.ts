// Functions of the page that need no browser.
import type { MessageView, TurnView, View } from "@turnwire/client";
import { describe, expect, test } from "vitest";
import { fromEditable, toEditable } from "../../clients/react/src/headless/editable_input";
import { POLLING_DELAYS } from "../src/agent/pollingDelays";
import { lookUp } from "../src/app/lookup";
import { matchingCommands } from "../src/composer/commandMatches";
import { MAX_DEPTH } from "../src/markdown/depthLimit";
import { decodeEntities } from "../src/markdown/entities";
import { GrowingMarkdown } from "../src/markdown/growingMarkdown";
import { safeAddress } from "../src/markdown/links";
import { hasInvisible } from "../src/markdown/VisibleText";
import { permissionTitle } from "../src/requests/permissionTitle";
import { deduplicatedPartsOf, partsOf } from "../src/requests/requestParts";
import { rulesIn } from "../src/requests/suggestedRules";
import { lastAnswer, lastCode } from "../src/talk/lastAnswer";
import { type Row, rowNear, rowOf, rowsOf } from "../src/talk/rows";
import { diffOf, readDiff } from "../src/tools/diff";
import { changesOf } from "../src/tools/fileChanges";
import { kindOf, toolTitle } from "../src/tools/toolKinds";
import { outputText, picturesIn } from "../src/tools/toolValues";
import { en } from "../src/words/en";
import { count, duration, money } from "../src/words/numbers";
import { shortPath } from "../src/words/paths";
import { regional } from "../src/words/region";
import { ago, dayOf } from "../src/words/times";
import { zh } from "../src/words/zh";

const TEXT =
  "# Title\n\nSome *words* and\nmore.\n\n- one\n- two\n\n  still two\n\n```py\nprint(1)\n\nprint(2)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n\nThe end.";

describe("markdown that grows", () => {
  const types = (tokens: { type: string; raw: string }[]) => tokens.map((each) => [each.type, each.raw]);

  test("is the same however it was cut", () => {
    const whole = types(new GrowingMarkdown().parse(TEXT));
    for (const size of [1, 2, 3, 7, 20]) {
      const growing = new GrowingMarkdown();
      for (let end = size; end < TEXT.length; end += size) growing.parse(TEXT.slice(0, end));
      expect(types(growing.parse(TEXT)).join()).toBe(whole.join());
    }
  });

  test("keeps the blocks that are finished", () => {
    const growing = new GrowingMarkdown();
    const first = growing.parse("One.\n\nTwo.\n\nThr");
    const second = growing.parse("One.\n\nTwo.\n\nThree.");
    expect(second[0]).toBe(first[0]);
    expect(second[2]).toBe(first[2]);
    expect(second.at(-1)).not.toBe(first.at(-1));
  });

  test("a text that is another one is parsed anew", () => {
    const growing = new GrowingMarkdown();
    growing.parse("One.\n\nTwo.\n\nThree.");
    expect(types(growing.parse("Else.")).length).toBe(1);
  });
});

describe("markdown that is nested without end", () => {
  /** Returns the depth of nested elements. */
  const depthOf = (value: unknown): number => {
    if (typeof value !== "object" || value === null) return 0;
    const { tokens, items } = value as { tokens?: unknown[]; items?: unknown[] };
    const inner = [...(tokens ?? []), ...(items ?? [])].map(depthOf);
    return 1 + Math.max(0, ...inner);
  };

  test.each([
    [">".repeat(20_000), "quotes"],
    ["> ".repeat(20_000), "quotes with spaces"],
    ["- ".repeat(20_000), "lists"],
    ["1. > ".repeat(10_000), "quotes in lists"],
    [Array.from({ length: 400 }, (_, at) => `${" ".repeat(at)}${"- ".repeat(10)}a`).join("\n"), "steps"],
    [`${"*_".repeat(4_000)}a${"_*".repeat(4_000)}`, "stress"],
    [`${"~~*".repeat(2_000)}a${"*~~".repeat(2_000)}`, "struck out"],
    [`${"![".repeat(2_000)}a${"](b)".repeat(2_000)}`, "pictures"],
  ])("is words from some depth on, and nothing of it is lost: %#", (text) => {
    const tokens = new GrowingMarkdown().parse(`Before.\n\n${text}`);
    expect(Math.max(...tokens.map(depthOf))).toBeLessThanOrEqual(2 * MAX_DEPTH + 3);
    expect(tokens[0]?.type).toBe("paragraph");
    const whole = tokens.map((token) => token.raw).join("");
    expect(whole.trimEnd() === `Before.\n\n${text}`.trimEnd()).toBe(true);
  });

  test("as deep as people write it stays what it is", () => {
    const [quote] = new GrowingMarkdown().parse(`${"> ".repeat(MAX_DEPTH)}**deep**`);
    expect(depthOf(quote)).toBe(MAX_DEPTH + 3);
  });
});

test("named characters are decoded", () => {
  expect(decodeEntities("a &amp; b &lt;script&gt; &#169; &#x202E; &nothing; &")).toBe(
    "a & b <script> © \u202e &nothing; &",
  );
});

test("links lead only to web and mail addresses", () => {
  expect(safeAddress("https://example.org/x")).toBe("https://example.org/x");
  expect(safeAddress("mailto:ann@example.org")).toBe("mailto:ann@example.org");
  for (const bad of [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "/api/tickets",
    "//x",
    "vbscript:x",
    "file:///x",
    "",
  ]) {
    expect(safeAddress(bad)).toBeUndefined();
  }
});

test("invisible characters are detected, and visible ones are not", () => {
  for (const bad of ["\u202e", "\u200b", "\u0000", "\u001b[0m", "\u2066", "\ufeff", "\u00ad", "\u{e0041}"])
    expect(hasInvisible(`a${bad}b`)).toBe(true);
  for (const good of ["plain", "tab\tand\nline", "中文", "é", "👩‍💻".replaceAll("\u200d", ""), "עברית"])
    expect(hasInvisible(good)).toBe(false);
});

test("editable input hides nothing, and unchanged text means the same input", () => {
  const plain = { command: "ls -l", timeout: 1 };
  expect(toEditable(plain)).toEqual({ text: "ls -l", isCommand: true });
  expect(fromEditable({ text: "ls", isCommand: true }, plain)).toEqual({ command: "ls", timeout: 1 });
  for (const tricky of [{ command: "echo \u202egnirts \u{e0041}\u200b 中文\n" }, "\u2066", { path: "/x" }]) {
    const shown = toEditable(tricky);
    expect(shown.isCommand || hasInvisible(shown.text)).toBe(false);
    expect(fromEditable(shown, tricky)).toEqual(tricky);
  }
  expect(toEditable({ command: "echo \u202egnirts" }).text).toContain("\\u202egnirts");
});

describe("a diff", () => {
  const shown = (before: string, after: string) => diffOf(before, after).map((line) => line.sign + line.text);

  test("shows what goes and what comes, between what stays", () => {
    expect(shown("a\nb\nc", "a\nB\nc")).toEqual([" a", "-b", "+B", " c"]);
    expect(shown("", "new")).toEqual(["+new"]);
    expect(shown("", "new\n")).toEqual(["+new"]);
    expect(shown("a\nb\n", "a\n")).toEqual([" a", "-b"]);
    expect(shown("a\n", "a")).toEqual([" a", "-"]);
    expect(shown("old", "")).toEqual(["-old"]);
    expect(shown("a\nb\nc\nd", "a\nc\nd\ne")).toEqual([" a", "-b", " c", " d", "+e"]);
  });

  test("gives both texts back", () => {
    const random = (seed: number) =>
      Array.from({ length: 30 }, (_, at) => "abc"[(seed * (at + 3) * 7) % 3]).join("\n");
    for (let seed = 1; seed < 30; seed += 1) {
      const [before, after] = [random(seed), random(seed + 1)];
      const lines = diffOf(before, after);
      const without = (sign: string) => lines.filter((line) => line.sign !== sign).map((line) => line.text);
      expect(without("+").join("\n")).toBe(before);
      expect(without("-").join("\n")).toBe(after);
    }
  });

  test("is read from a unified one, and from what an agent tells", () => {
    expect(readDiff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z")).toEqual([
      { sign: "@", text: "@@ -1 +1 @@" },
      { sign: "-", text: "x" },
      { sign: "+", text: "y" },
      { sign: " ", text: "z" },
    ]);
    const input = { file_path: "/x", old_string: "a", new_string: "b" };
    expect(changesOf(input, undefined)[0]?.lines.map((line) => line.sign)).toEqual(["-", "+"]);
    const details = {
      structuredPatch: [{ oldStart: 1, oldLines: 1, newStart: 1, newLines: 2, lines: [" a", "+b"] }],
    };
    expect(changesOf(input, details)[0]?.lines.map((line) => line.sign)).toEqual(["@", " ", "+"]);
  });

  test("hides no line that looks like the name of a file", () => {
    const read = (diff: string, path?: string) => readDiff(diff, path).map(({ sign, text }) => sign + text);
    const shown = ["@@@ -1,2 +1,2 @@", "--- comment", "+++x", " same"];
    expect(read("--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- comment\n+++x\n same\n", "/w/x.sql")).toEqual(
      shown,
    );
    expect(read("@@ -1,2 +1,2 @@\n--- comment\n+++x\n same")).toEqual(shown);
    expect(read("--- comment\n+++x")).toEqual(["--- comment", "+++x"]);
    // The diff names another file than the path.
    expect(read("--- a/x\n+++ b/etc/passwd\n@@ -1 +1 @@\n-a\n+b", "x")).toContain("+++ b/etc/passwd");
    expect(read("@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-c\n+d")).toEqual([
      ...["@@@ -1 +1 @@", "-a", "+b", "@--- a/y", "@+++ b/y", "@@@ -1 +1 @@", "-c", "+d"],
    ]);
    expect(read("no sign at all")).toEqual([" no sign at all"]);
    const details = {
      structuredPatch: [{ oldStart: 1, oldLines: 2, newStart: 1, newLines: 2, lines: ["--- b", "+++c"] }],
    };
    const [change] = changesOf({ file_path: "/a.sql", old_string: "-- b", new_string: "++c" }, details);
    expect(change?.lines.slice(1)).toEqual([
      { sign: "-", text: "-- b" },
      { sign: "+", text: "++c" },
    ]);
  });
});

describe("a permission hides no argument", () => {
  const edit = { old_string: "a", new_string: "b" };

  test.each([
    ["Bash", { command: "ls", cmd: "rm" }, { cmd: "rm" }],
    ["Bash", { command: ["rm"], cmd: "ls" }, { command: ["rm"] }],
    ["Bash", { command: "", cmd: "ls" }, { command: "" }],
    ["Bash", { command: "ls", description: "rm", timeout: 1 }, { description: "rm", timeout: 1 }],
    ["Bash", { command: "ls" }, undefined],
    ["Bash", "rm", "rm"],
    ["Edit", { file_path: "/x", ...edit }, undefined],
    ["Edit", { file_path: "/x", path: "/y", ...edit, replace_all: true }, { path: "/y", replace_all: true }],
    ["Edit", { file_path: "/x", old_string: 1, new_string: "b" }, { old_string: 1 }],
    ["Write", { file_path: "/x", content: "a", new_string: "" }, { new_string: "" }],
    ["Write", {}, undefined],
    ["Write", { content: "a" }, undefined],
    ["Edit", edit, undefined],
    ["MultiEdit", { file_path: "/x", edits: [edit] }, undefined],
    ["MultiEdit", { file_path: "/x", content: "c", edits: [edit] }, { content: "c" }],
    [
      "MultiEdit",
      { file_path: "/x", edits: [edit, { ...edit, replace_all: true }, "odd"] },
      { edits: [{}, { replace_all: true }, "odd"] },
    ],
    ["file_change", { changes: [{ path: "/x", diff: "+a" }], path: "/y" }, { path: "/y" }],
    ["file_change", { changes: [{ path: "/x", kind: "delete" }] }, { changes: [{ kind: "delete" }] }],
    ["Write", ["odd"], ["odd"]],
    ["New", { a: 1 }, { a: 1 }],
  ])("%s %j", (name, input, rest) => {
    expect(partsOf(name, input).rest).toEqual(rest);
  });

  test("and what it does not list is in the command or in the diff", () => {
    expect(partsOf("Bash", { command: "ls", cmd: "rm" }).command).toBe("ls");
    const { changes } = partsOf("MultiEdit", { file_path: "/x", content: "c", edits: [edit] });
    expect(changes).toEqual([
      {
        path: "/x",
        lines: [
          { sign: "-", text: "a" },
          { sign: "+", text: "b" },
        ],
        parts: [{ at: 0, path: "/x", text: "a" }],
      },
    ]);
  });
});

test("tools have kinds by their names", () => {
  expect(
    [
      "Bash",
      "Edit",
      "Read",
      "Grep",
      "mcp__x__y",
      "WebSearch",
      "TodoWrite",
      "Task",
      "AskUserQuestion",
      "New",
    ].map((name) => kindOf(name)),
  ).toEqual(["command", "change", "read", "search", "mcp", "web", "todo", "agent", "question", "raw"]);
  expect(kindOf("mcp__turnwire__request_input")).toBe("question");
  expect(kindOf("ask_human", "QUESTION")).toBe("question");
});

test("the result of a tool is text, and its images are images", () => {
  const content = [
    { type: "text", text: "\u001b[31mred\u001b[0m" },
    { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } },
  ];
  expect(outputText(content)).toBe("red");
  expect(picturesIn(content)).toEqual([{ mimeType: "image/png", data: "AA", blobId: undefined }]);
  const url = "https://elsewhere.example/x.png";
  expect(picturesIn([{ type: "image", url }])).toEqual([{ mimeType: "image/png", url }]);
  expect(picturesIn([{ type: "image" }])).toEqual([]);
  expect(outputText({ a: 1 })).toContain('"a": 1');
});

test("each block is a row, the end of a turn follows it, and unchanged messages keep their row objects", () => {
  const said = { id: "user-1", role: "user" as const, blocks: [], turn_id: 1, sequence: 1 };
  const blocks = [0, 1].map((at) => ({
    type: "text" as const,
    id: `m:${at}`,
    status: "complete" as const,
    text: "x",
  }));
  const answer = { id: "m", role: "assistant" as const, blocks, turn_id: 1, sequence: 2 };
  const turn = { turn_id: 1, end: { is_error: false, interrupted: false, after_sequence: 3 } };
  const next = { ...said, id: "user-4", turn_id: 2, sequence: 4 };
  const rows = rowsOf({ messages: [said, answer, next], turns: [turn] });
  expect(rows.map((row) => row.kind)).toEqual(["said", "block", "block", "turn", "said"]);
  const again: Row[] = rowsOf({ messages: [said, answer, next], turns: [turn] });
  expect(again.every((row, at) => row === rows[at])).toBe(true);
});

test("messages of another day have that day above them; the first ones unless it is today", () => {
  const said = (id: string, timestamp?: string) => ({
    id,
    role: "user" as const,
    blocks: [],
    ...(timestamp === undefined ? {} : { timestamp }),
  });
  const messages = [
    said("a", "2026-03-01T12:00:00.000Z"),
    said("b", "2026-03-01T12:30:00.000Z"),
    said("no time"),
    said("c", "2026-03-04T12:00:00.000Z"),
  ];
  const kinds = (hasBeginning: boolean) =>
    rowsOf({ messages, turns: [] }, hasBeginning).map(({ kind }) => kind);
  expect(kinds(false)).toEqual(["said", "said", "said", "day", "said"]);
  expect(kinds(true)).toEqual(["day", "said", "said", "said", "day", "said"]);
  const now = [said("now", new Date().toISOString())];
  expect(rowsOf({ messages: now, turns: [] }, true).map(({ kind }) => kind)).toEqual(["said"]);
  expect(rowsOf({ messages, turns: [] })[3]).toBe(rowsOf({ messages, turns: [] })[3]);
});

test("a language has the region that the browser prefers, if it is of that language", () => {
  expect(regional("en", ["de-AT", "en-GB", "en-US"])).toBe("en-GB");
  expect(regional("zh-CN", ["zh-TW"])).toBe("zh-TW");
  expect(regional("en", ["zh-CN"])).toBe("en");
});

test("what is older than a week has its date, with the year if it is another one", () => {
  const now = Date.parse("2026-11-19T12:00:00");
  expect(ago("2026-11-19T11:50:00", en, now)).toBe("10 min");
  expect(ago("2026-03-02T10:00:00", en, now)).toBe("Mar 2");
  expect(ago("2025-03-02T10:00:00", en, now)).toBe("Mar 2, 2025");
  expect(ago("2026-03-02T10:00:00", zh, now)).toBe("3月2日");
});

test("a day has its name or its date, in both languages", () => {
  const now = new Date(2026, 2, 4, 9);
  const at = (day: number) => new Date(2026, 2, day, 12).toISOString();
  expect([4, 3, 1].map((day) => dayOf(at(day), en, now))).toEqual([
    "Today",
    "Yesterday",
    "Sunday, March 1, 2026",
  ]);
  expect([4, 3, 1].map((day) => dayOf(at(day), zh, now))).toEqual(["今天", "昨天", "2026年3月1日星期日"]);
});

test("the end of a turn knows the message that began it, and the last text of its answer", () => {
  const text = (id: string) => ({ type: "text" as const, id, status: "complete" as const, text: id });
  const asked = { id: "q", role: "user" as const, blocks: [text("question")], turn_id: 1, sequence: 1 };
  const steered = { ...asked, id: "s", sequence: 3, steered: true };
  const first = { id: "m", role: "assistant" as const, blocks: [text("a")], turn_id: 1, sequence: 2 };
  const last = { ...first, id: "n", blocks: [text("b"), text("c")], sequence: 4 };
  const turn = { turn_id: 1, end: { is_error: false, interrupted: false, after_sequence: 5 } };
  const rows = rowsOf({ messages: [asked, first, steered, last], turns: [turn] });
  const end = rows.at(-1);
  expect(end?.kind === "turn" && [end.asked?.id, end.answer?.message.id, end.answer?.block.id]).toEqual([
    "q",
    "n",
    "c",
  ]);
});

test("the start of a session and an update of a task have no row; other events have one", () => {
  const told = (subtype: string, sequence: number) => ({
    id: subtype,
    role: "system" as const,
    blocks: [{ type: "event" as const, id: "e", status: "complete" as const, name: "system", subtype }],
    sequence,
  });
  const messages = ["init", "task_started", "task_updated", "compact_boundary"].map(told);
  const shown = rowsOf({ messages, turns: [] }).map((row) => row.kind === "event" && row.message.id);
  expect(shown).toEqual(["task_started", "compact_boundary"]);
});

test("repeated parts of a request are shown once, and no argument is left out", () => {
  const asked = (input: object, description?: string, blocked_path?: string, tool_name = "Bash") => {
    const once = deduplicatedPartsOf({ tool_name, input, description, blocked_path }, "A title");
    return [once.command, once.description, once.blockedPath, once.rest];
  };
  expect(asked({ command: "ls", description: "x" }, "x")).toEqual(["ls", "x", undefined, undefined]);
  expect(asked({ command: "ls", description: "x" })).toEqual(["ls", "x", undefined, undefined]);
  expect(asked({ command: "ls", description: "A title" })).toEqual(["ls", undefined, undefined, undefined]);
  expect(asked({ where: "a", description: "x" }, undefined, undefined, "mcp__a__b")[3]).toEqual({
    where: "a",
    description: "x",
  });
  expect(asked({ command: "ls", description: "x" }, "y")).toEqual([
    "ls",
    "y",
    undefined,
    { description: "x" },
  ]);
  expect(asked({ command: "ls" }, "ls", "/a")).toEqual(["ls", undefined, "/a", undefined]);
  expect(asked({ file_path: "/a" }, "/a", "/a", "Read")).toEqual([
    undefined,
    undefined,
    undefined,
    { file_path: "/a" },
  ]);
  expect(asked({ file_path: "/a", content: "" }, "/a", "/a", "Write").slice(1)).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(asked({}, undefined, undefined, "mcp__a__b")).toEqual([undefined, undefined, undefined, undefined]);
});

test("the title of a permission says in plain words what would happen", () => {
  const titles = [
    { tool_name: "Bash" },
    { tool_name: "Edit" },
    { tool_name: "file_change" },
    { tool_name: "Read" },
    { tool_name: "WebFetch" },
    { tool_name: "mcp__colours__pick", title: "pick" },
    { tool_name: "constructor" },
    { tool_name: "Edit", title: "Change birds.py" },
  ].map((request) => permissionTitle(request, en));
  expect(titles).toEqual([
    "May this command run?",
    "May this file be changed?",
    "May these files be changed?",
    "May this file be read?",
    "May this web page be read?",
    "May the tool “colours: pick” run?",
    "May the tool “constructor” run?",
    "Change birds.py",
  ]);
});

test("the title of an MCP tool names its server", () => {
  expect(toolTitle("mcp__colours__pick_one", en)).toBe("colours: pick_one");
  expect(toolTitle("mcp__", en)).toBe("mcp__");
  expect(toolTitle("Bash", en)).toBe("Command");
  expect(toolTitle("file_change", en)).toBe("Change");
  expect(toolTitle("Write", en)).toBe("Write");
  expect(toolTitle("Run ls", en, "ACP_EXECUTE")).toBe("Command");
  expect(toolTitle("lights_on", en)).toBe("lights_on");
});

test("one row tells a crash, and one card a task", () => {
  const event = (sequence: number, name: string, subtype?: string, data: object = {}) => ({
    id: `m${sequence}`,
    role: "system" as const,
    blocks: [
      {
        type: "event" as const,
        id: "e",
        status: "complete" as const,
        name,
        ...(subtype ? { subtype } : {}),
        data,
      },
    ],
    turn_id: 1,
    sequence,
  });
  const rows = (code: string, messages: ReturnType<typeof event>[]) =>
    rowsOf({
      messages,
      turns: [{ turn_id: 1, end: { is_error: true, error: { code, message: "" } } }] as TurnView[],
    }).map((row) => row.key);
  const stop = event(1, "interrupted", undefined, { reason: "agent_lost" });
  expect(rows("agent_lost", [stop])).toEqual(["turn-1"]);
  expect(rows("other", [stop])).toEqual(["m1/e", "turn-1"]);
  // A task without a card has one row, which changes.
  const begun = event(1, "system", "task_started", { task_id: "t", tool_use_id: "not loaded" });
  const ended = event(2, "system", "task_notification", { task_id: "t", tool_use_id: "not loaded" });
  expect(rows("other", [begun])).toEqual(["m1/e", "turn-1"]);
  expect(rows("other", [begun, ended])).toEqual(["m2/e", "turn-1"]);
});

describe("the end of a turn", () => {
  const message = (sequence: number | undefined, turn_id: number) => ({
    id: `m${sequence}`,
    role: "system" as const,
    blocks: [{ type: "event" as const, id: "e", status: "complete" as const, name: "system" }],
    turn_id,
    ...(sequence === undefined ? {} : { sequence }),
  });
  const turn = (turn_id: number, after_sequence?: number) => ({
    turn_id,
    end: {
      is_error: false,
      interrupted: false,
      ...(after_sequence === undefined ? {} : { after_sequence }),
    },
  });
  const shown = (messages: ReturnType<typeof message>[], turns: ReturnType<typeof turn>[]) =>
    rowsOf({ messages, turns }).map((row) =>
      row.kind === "turn" ? `end ${row.turn.turn_id}` : row.kind === "day" ? row.at : row.message.id,
    );

  test("stands behind it, though work of an earlier turn was told of meanwhile", () => {
    const messages = [message(1, 1), message(2, 2), message(3, 1), message(4, 2), message(undefined, 3)];
    const expected = ["m1", "end 1", "m2", "m3", "m4", "end 2", "mundefined"];
    expect(shown(messages, [turn(1, 1), turn(2, 4)])).toEqual(expected);
  });

  test("is not shown where nothing of the turn is here", () => {
    expect(shown([message(5, 2)], [turn(1, 4), turn(2, 5)])).toEqual(["m5", "end 2"]);
  });

  test("stands behind its last message where the server does not say", () => {
    expect(shown([message(1, 1), message(2, 2)], [turn(1), turn(2)])).toEqual(["m1", "end 1", "m2", "end 2"]);
  });
});

test("an entry is found in the row of its block, in the card of its call, or in a sub-agent's row", () => {
  const text = (id: string) => ({ type: "text" as const, id, status: "complete" as const, text: "x" });
  const tool = (id: string, messages?: MessageView[]) => ({
    ...{ type: "tool" as const, id, status: "complete" as const, tool_name: "Task" },
    ...(messages ? { messages, request: { request_id: `ask-${id}`, kind: "permission" } } : {}),
  });
  const told = { id: "user-4", role: "user" as const, blocks: [], sequence: 4, parent_tool_use_id: "t2" };
  const help = {
    ...told,
    id: "h",
    role: "assistant" as const,
    blocks: [text("h:0"), tool("t3")],
    sequence: 5,
  };
  const said = { id: "user-1", role: "user" as const, blocks: [], sequence: 1 };
  const blocks = [text("m:0"), tool("t2", [told, help])];
  const answer = { id: "m", role: "assistant" as const, blocks, sequence: 2 };
  const rows = rowsOf({ messages: [said, answer], turns: [] });
  const inner = (number: number, ...ids: string[]) => rowOf(rows, { number, ids })?.inner;
  expect(inner(1)).toBe("user-1");
  expect(inner(2, "m:0")).toBe("m/m:0");
  expect(inner(3, "t2")).toBe("m/t2");
  expect(inner(9, "ask-t2")).toBe("m/t2");
  expect(rowOf(rows, { number: 4, ids: [] })).toEqual({ row: "m/t2", inner: "t2/user-4" });
  expect(rowOf(rows, { number: 7, ids: ["t3"] })).toEqual({ row: "m/t2", inner: "t2/h/t3" });
  expect(inner(8)).toBeUndefined();
  expect(rowNear(rows, { number: 8, ids: [] })?.row).toBe("m/t2");
  expect(rowNear([], { number: 8, ids: [] })).toBeUndefined();
});

test("inherited object keys are not found in the tables of the page", () => {
  for (const word of ["constructor", "__proto__", "toString", "valueOf", "hasOwnProperty"]) {
    expect(kindOf(word)).toBe("raw");
    expect(lookUp<unknown>({ a: 1 }, word)).toBeUndefined();
    const rule = { type: "setMode", mode: "plan", destination: word };
    expect(rulesIn([rule], en)).toEqual(["everything that the permission mode plan allows"]);
  }
  expect(decodeEntities("&valueOf;&amp;")).toBe("&valueOf;&");
  expect(lookUp({ a: 1 }, "a")).toBe(1);
  expect(lookUp({ a: 1 }, undefined)).toBeUndefined();
});

test("suggested rules are described in words", () => {
  const rule = (toolName: string, ruleContent?: string) => ({
    toolName,
    ...(ruleContent ? { ruleContent } : {}),
  });
  const rules = [rule("Bash", "rm -r build"), rule("Read")];
  const said = rulesIn(
    [
      { type: "addRules", rules, behavior: "allow", destination: "session" },
      { type: "setMode", mode: "acceptEdits", destination: "userSettings" },
      { type: "addDirectories", directories: ["/tmp"], destination: "elsewhere" },
      { type: "addRules", rules, behavior: "deny" },
    ],
    en,
  );
  expect(said.slice(0, 3)).toEqual([
    "Command “rm -r build”, every use of Read · in this conversation",
    "everything that the permission mode acceptEdits allows · in all conversations on this machine",
    "to work in /tmp",
  ]);
  expect(said[3]).toContain('"behavior":"deny"');
});

test("the offered commands match the text, those with the same prefix first", () => {
  const all = ["clear", "compact", "mcp:Compile", "cost"].map((name) => ({ name }));
  const names = (written: string) => matchingCommands(all, written).map((each) => each.name);
  expect(names("/")).toEqual(["clear", "compact", "mcp:Compile", "cost"]);
  expect(names("/COMP")).toEqual(["compact", "mcp:Compile"]);
  expect(names("/p")).toEqual(["compact", "mcp:Compile"]);
  for (const other of ["", "compact", "/compact ", "/compact now", " /", "/c\n"])
    expect(names(other)).toEqual([]);
});

test("a short path shows the end of the path", () => {
  expect(
    ["/", "/work", "/home/ann", "/home/ann/projects/birds/", "C:\\work\\birds\\wings"].map(shortPath),
  ).toEqual([...["/", "/work", "/home/ann", "…/projects/birds", "…/birds/wings"]]);
});

test("numbers are formatted for people", () => {
  expect([duration(1234), duration(45_000), duration(125_000), duration(7_260_000)]).toEqual([
    "1.2 s",
    "45 s",
    "2 min 5 s",
    "2 h 1 min",
  ]);
  expect([20, 999.7, 9960, 59_700, 119_600, 3_599_700].map(duration)).toEqual([
    ...["20 ms", "1.0 s", "10 s", "1 min 0 s", "2 min 0 s", "1 h 0 min"],
  ]);
  expect([count(999), count(2324), count(12_345), count(2_500_000)]).toEqual([
    "999",
    "2.3k",
    "12.3k",
    "2.5M",
  ]);
  expect([money(0), money(0.0123), money(1.5)]).toEqual(["$0", "$0.0123", "$1.50"]);
});

test("both languages have all texts, and none is left in the other language", () => {
  const flat = (words: object, path = ""): string[] =>
    Object.entries(words).flatMap(([name, value]) =>
      typeof value === "object" ? flat(value, `${path}${name}.`) : [`${path}${name}`],
    );
  // The lines about agents come from the server in English.
  expect(flat({ ...zh, agentLines: {} })).toEqual(flat(en));
  expect(Object.keys(zh.agentLines)).toEqual(["demo", "replay", "claude", "codex"]);
});

test("the status of a slowly connecting server is polled for a minute, with growing delays", () => {
  expect(POLLING_DELAYS.reduce((sum, pause) => sum + pause)).toBeGreaterThan(90_000);
  expect(POLLING_DELAYS).toEqual([...POLLING_DELAYS].sort((one, other) => one - other));
});

test("the last answer and its last code are found", () => {
  const said = (role: string, text: string) => ({ role, blocks: [{ type: "text", text }] });
  const view = (...messages: unknown[]) => ({ messages }) as unknown as View;
  const code = "```py\nfirst()\n```\nand\n```js\nlet a = 1;\n```\nthere";
  expect(lastAnswer(view(said("assistant", code), said("user", "more")))).toBe(code);
  expect(lastCode(view(said("assistant", code), said("user", "more")))).toBe("let a = 1;");
  expect(lastCode(view(said("assistant", code), said("assistant", "none")))).toBeUndefined();
  expect(lastAnswer(view(said("user", "hello")))).toBeUndefined();
});
