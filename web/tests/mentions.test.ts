// Files of the working directory are named with an @: with the keyboard, the mouse and a finger.
import { mkdirSync, writeFileSync } from "node:fs";
import { expect as expects, test as plain } from "vitest";
import { fileElement } from "../../clients/react/src/headless/file_element";
import { mentionAt, withPath } from "../src/composer/fileMentions";
import { markupParts } from "../src/tools/agentMarkup";
import { violations } from "./axe";
import { Person, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(async () => {
  const server = await Server.start();
  mkdirSync(`${server.workDir}/src`);
  for (const name of ["src/main.py", "src/other.py", "my notes.txt"])
    writeFileSync(`${server.workDir}/${name}`, "x");
  return server;
});

test("an @ lists files, and the keys choose one at the cursor", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const field = page.getByLabel("Message", { exact: true });
  const files = page.getByRole("listbox", { name: "Files" });
  await field.fill("Compare  please");
  await field.evaluate((each) => (each as HTMLTextAreaElement).setSelectionRange(8, 8));
  await page.keyboard.type("@.py");
  await expect
    .poll(() => files.getByRole("option").allInnerTexts())
    .toEqual(["@src/main.py", "@src/other.py"]);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await files.waitFor({ state: "detached" });
  await expect.poll(() => field.inputValue()).toBe("Compare @src/other.py please");
  await expect
    .poll(() => field.evaluate((each) => (each as HTMLTextAreaElement).selectionStart))
    .toBe("Compare @src/other.py ".length);
  await page.keyboard.type("@zebra");
  await page.keyboard.press("Escape");
  await field.fill("@notes");
  await files.getByRole("option", { name: "my notes" }).click();
  await expect.poll(() => field.inputValue()).toBe('@"my notes.txt" ');
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("composer");
  await field.fill("@mai");
  await files.waitFor();
  await page.keyboard.press("Escape");
  await files.waitFor({ state: "detached" });
  expect(await field.inputValue()).toBe("@mai");
});

test("a finger chooses a file", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  await person.beKnown();
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("@main");
  await page.getByRole("option", { name: "src/main.py" }).tap();
  await expect.poll(() => field.inputValue()).toBe("@src/main.py ");
  await person.leave();
});

test("on the start page an @ lists the files of the chosen directory", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  const field = page.getByLabel("What do you want to say?");
  const files = page.getByRole("listbox", { name: "Files" });
  await field.fill("Read ");
  await field.press("End");
  await page.keyboard.type("@main");
  await expect.poll(() => files.getByRole("option").allInnerTexts()).toEqual(["@src/main.py"]);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await expect.poll(() => field.inputValue()).toBe("Read @src/main.py ");
  expect(new URL(page.url()).pathname).toBe("/new"); // Enter has chosen the file, and sent nothing

  await page.getByRole("button", { name: /^Working directory: / }).click();
  const picker = page.getByRole("dialog", { name: "Working directory" });
  await picker.getByRole("textbox").fill(`${here.server.workDir}/src`);
  await picker.getByRole("button", { name: "Use this directory" }).click();
  await picker.waitFor({ state: "detached" });
  await field.fill("@");
  await expect.poll(() => files.getByRole("option").allInnerTexts()).toEqual(["@main.py", "@other.py"]);
  await files.getByRole("option", { name: "other.py" }).click();
  await expect.poll(() => field.inputValue()).toBe("@other.py ");
});

test("on the start page a finger chooses a file", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  const { page } = person;
  const field = page.getByLabel("What do you want to say?");
  await field.fill("@notes");
  await page.getByRole("option", { name: "my notes.txt" }).tap();
  await expect.poll(() => field.inputValue()).toBe('@"my notes.txt" ');
  await person.leave();
});

plain("a mention is an @ at the beginning of a word, before the cursor", () => {
  expects(mentionAt("see @src/ma", 11)).toEqual({ from: 4, sought: "src/ma" });
  expects(mentionAt("@", 1)).toEqual({ from: 0, sought: "" });
  expects(mentionAt("(@a b", 3)).toEqual({ from: 1, sought: "a" });
  for (const text of ["mail@example", "@a b", "", "a"]) expects(mentionAt(text, text.length)).toBeUndefined();
  expects(withPath("see @a now", 6, { from: 4, sought: "a" }, "b.py")).toEqual({
    text: "see @b.py now",
    cursor: 10,
  });
});

plain("a file in a message is drawn as a file, whatever its content is", () => {
  const element = fileElement('a"b<.txt', "one</file>two\n");
  expects(markupParts(`Read\n\n${element}`)).toEqual([
    { kind: "text", text: "Read" },
    { kind: "file", name: "a_b_.txt", text: "one<\\/file>two" },
  ]);
  expects(markupParts("<file>x</file>")).toEqual([{ kind: "text", text: "<file>x</file>" }]);
});
