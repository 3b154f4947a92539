// What an agent changes in a file: numbered, coloured, and side by side where there is room.
import { writeFileSync } from "node:fs";
import type { Locator, Page } from "playwright-core";
import { violations } from "./axe";
import { say, state } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const LINES = Array.from({ length: 30 }, (_, at) => `value_${at + 1} = ${at + 1}\n`);
const { here, test } = stage(async () => {
  const agents = "web.tests.python.agents:editor,demo";
  const server = await Server.start({ TURNWIRE_AGENTS: agents, PYTHONPATH: ROOT });
  writeFileSync(`${server.workDir}/greet.py`, LINES.join(""));
  return server;
});

const EDIT = {
  old_string: "value_12 = 12\nvalue_13 = 13\nvalue_14 = 14",
  new_string: 'value_12 = 12\ndef greet():\n    return "hello"\nvalue_14 = 14',
};

/** Asks for an edit. Returns the comparison of the request. */
async function ask(page: Page, edit: object): Promise<{ shown: Locator; id: string }> {
  const body = { agent: "editor", cwd: here.server.workDir };
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", body);
  await page.goto(`${here.server.url}/c/${id}`);
  await say(page, JSON.stringify({ file_path: `${here.server.workDir}/greet.py`, ...edit }));
  const shown = page.getByRole("region", { name: "Permission" }).locator(".comparison");
  await shown.waitFor();
  return { shown, id };
}

/** Returns the lines as a person reads them: the number that is drawn, the sign, and the text. */
const readIn = (side: Locator) => () =>
  side.locator("> div").evaluateAll((lines) =>
    lines.map((line) => {
      const drawn = getComputedStyle(line, "::before");
      const number = drawn.display === "none" ? "" : drawn.content.replaceAll('"', "");
      return `${number}|${line.textContent}`;
    }),
  );

test("an edit shows the real line numbers of the file, its colours, and both sides in a wide window", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const { shown, id } = await ask(page, EDIT);
  const one = ["12| value_12 = 12", "13|-value_13 = 13", "13|+def greet():", '14|+    return "hello"'];
  await page.setViewportSize({ width: 900, height: 860 });
  await expect.poll(readIn(shown.locator("pre"))).toEqual([...one, "15| value_14 = 14"]);
  await shown.locator(".added .hljs-keyword", { hasText: "def" }).waitFor();
  await shown.locator(".removed .hljs-number", { hasText: "13" }).waitFor();
  const background = (name: string) =>
    shown
      .locator(`pre > .${name}`)
      .first()
      .evaluate((line) => getComputedStyle(line).backgroundColor);
  expect(await background("added")).not.toBe(await background("removed"));
  expect(await shown.getByText("its place in the file is not known").count()).toBe(0);
  expect(await violations(page)).toEqual([]);

  await page.setViewportSize({ width: 1680, height: 860 });
  const [before, after] = [shown.locator("pre").first(), shown.locator("pre").nth(1)];
  await expect
    .poll(readIn(after))
    .toEqual(["12| value_12 = 12", "13|+def greet():", '14|+    return "hello"', "15| value_14 = 14"]);
  expect((await readIn(before)()).map((line) => line.trim())).toEqual([
    "12| value_12 = 12",
    "13|-value_13 = 13",
    "|",
    "14| value_14 = 14",
  ]);
  const [left, right] = [await before.boundingBox(), await after.boundingBox()];
  expect((left?.x ?? 0) + (left?.width ?? 0)).toBeLessThanOrEqual((right?.x ?? 0) + 1);
  expect(left?.y).toBe(right?.y);

  // The same in the inbox, and on a phone one below the other.
  await page.goto(`${here.server.url}/inbox`);
  const card = page.locator(".cards > li", { has: page.locator(`a[href$="/c/${id}"]`) });
  await expect.poll(() => card.locator(".comparison.both pre").count()).toBe(2);
  await expect.poll(readIn(card.locator("pre").nth(1))).toContain("13|+def greet():");
  await page.setViewportSize({ width: 375, height: 667 });
  await expect.poll(readIn(card.locator("pre"))).toEqual([...one, "15| value_14 = 14"]);
});

test("the card of an edit has the colours and numbers of the request, and says that they are relative", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const { shown } = await ask(page, { ...EDIT, old_string: "is not in the file" });
  await shown.getByText("its place in the file is not known").waitFor();
  await expect.poll(readIn(shown.locator("pre").first())).toContain("1|-is not in the file");
  await page
    .locator(".request")
    .getByRole("button", { name: /^Allow/ })
    .click();
  await state(page, "Ready");
  const card = page.locator(".card.change .comparison");
  await card.getByText("its place in the file is not known").waitFor();
  await expect.poll(readIn(card.locator("pre"))).toContain("2|+def greet():");
  await card.locator(".added .hljs-keyword", { hasText: "def" }).waitFor();
});
