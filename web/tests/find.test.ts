// Finding text in a conversation, and the command palette: with the keyboard, the mouse and a finger.
import type { Page } from "playwright-core";
import { violations } from "./axe";
import { Person, say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(async () => {
  const server = await Server.start();
  server.python("seed", "long", "1200");
  return server;
});

const bar = (page: Page) => page.getByRole("search", { name: "Find in this conversation" });
const count = (page: Page) => bar(page).getByRole("status");

test("Ctrl+F finds text in a folded row, and the keys go from hit to hit", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("think about the tool");
  await state(page, "Ready");
  await say(page, "The TOOL, please");
  await expect.poll(() => page.locator(".row.turn").count()).toBe(2);
  await state(page, "Ready");
  await page.keyboard.press("Control+f");
  const field = bar(page).getByRole("textbox");
  await expect.poll(() => field.evaluate((each) => each === document.activeElement)).toBe(true);
  await page.keyboard.type("the tool");
  await expect.poll(() => count(page).innerText()).toMatch(/^1 of [2-9]$/);
  const all = Number((await count(page).innerText()).split(" ").at(-1));
  await expect.poll(() => page.evaluate(() => CSS.highlights.get("found")?.size)).toBeGreaterThanOrEqual(2);
  for (let at = 2; at <= all; at += 1) {
    await page.keyboard.press("Enter");
    await expect.poll(() => count(page).innerText()).toBe(`${at} of ${all}`);
  }
  await page.locator(".sought .said", { hasText: "think about the tool" }).waitFor();
  await page.keyboard.press("Shift+Enter");
  await expect.poll(() => count(page).innerText()).toBe(`${all - 1} of ${all}`);
  expect(await violations(page)).toEqual([]);
  await field.fill("zebra");
  await expect.poll(() => count(page).innerText()).toBe("Not found");
  expect(await bar(page).getByRole("button", { name: "Earlier hit" }).isDisabled()).toBe(true);
  await page.keyboard.press("Escape");
  await bar(page).waitFor({ state: "detached" });
  expect(await page.evaluate(() => CSS.highlights.has("found"))).toBe(false);
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("composer");
});

test("a hit in thoughts unfolds them", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("think");
  await state(page, "Ready");
  const thoughts = page.locator(".thoughts");
  await thoughts.locator("summary").click();
  const words = (await thoughts.locator(".markdown").innerText()).slice(0, 20);
  await thoughts.locator("summary").click();
  await page.reload();
  await page.locator(".row.turn").waitFor();
  expect(await thoughts.evaluate((each) => (each as HTMLDetailsElement).open)).toBe(false);
  await page.getByRole("button", { name: "Find in this conversation" }).click();
  await bar(page).getByRole("textbox").fill(words);
  await expect.poll(() => thoughts.evaluate((each) => (each as HTMLDetailsElement).open)).toBe(true);
});

test("text in messages that are not loaded is found and shown, and the later hits are reached again", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/long`);
  await page.locator(".row.said", { hasText: "Question 300" }).waitFor();
  await page.getByRole("button", { name: "Find in this conversation" }).click();
  // A number that only the first messages have.
  await bar(page).getByRole("textbox").fill("Question 7");
  await expect.poll(() => count(page).innerText()).toMatch(/^1 of \d+$/);
  await page.locator(".sought .said", { hasText: /Question 7\d?/ }).waitFor();
  const all = Number((await count(page).innerText()).split(" ").at(-1));
  await bar(page).getByRole("button", { name: "Later hit" }).click();
  await page.locator(".sought .said .bubble", { hasText: /^Question 7$/ }).waitFor();
  await expect.poll(() => count(page).innerText()).toMatch(/^(\d+) of \1$/);
  expect(all).toBeGreaterThan(0);
  await bar(page).getByRole("button", { name: "Earlier hit" }).click();
  await page.locator(".sought .said .bubble", { hasText: /^Question 7\d$/ }).waitFor();
});

test("a finger finds text on a phone", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  await person.beKnown();
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  await page.getByRole("button", { name: "Find in this conversation" }).tap();
  await bar(page).getByRole("textbox").fill("demo agent");
  await expect.poll(() => count(page).innerText()).toBe("1 of 1");
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  expect(await violations(page)).toEqual([]);
  await bar(page).getByRole("button", { name: "Close" }).tap();
  await bar(page).waitFor({ state: "detached" });
  await person.leave();
});

test("Ctrl+K lists commands and conversations, and the keys choose one", async ({ person, expect }) => {
  const { page } = person;
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", {
    title: "Garden plans",
  });
  await person.quick("hello");
  await state(page, "Ready");
  const palette = page.getByRole("dialog", { name: "Commands and conversations" });
  const open = async () => {
    await page.keyboard.press("Control+k");
    await palette.getByRole("combobox").waitFor();
  };
  await open();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.type("garden");
  await palette.getByRole("option", { name: /Garden plans/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(`${here.server.url}/c/${id}`);

  await open();
  await page.keyboard.type("inbo");
  await palette.getByRole("option", { name: /Inbox/ }).click();
  await page.waitForURL(/inbox$/);

  await open();
  await page.keyboard.type("theme dark");
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");

  await open();
  await page.keyboard.type("zebra");
  await palette.getByRole("option", { name: "Search all messages for “zebra”", selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/search\?q=zebra$/);

  await open();
  const selected = palette.getByRole("option", { selected: true });
  const first = await selected.innerText();
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => selected.innerText()).not.toBe(first);
  await page.keyboard.press("ArrowUp");
  await expect.poll(() => selected.innerText()).toBe(first);
  await page.keyboard.press("Escape");
  await palette.waitFor({ state: "detached" });
});

test("the palette offers what can be done in a conversation", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const palette = page.getByRole("dialog", { name: "Commands and conversations" });
  const open = async () => {
    await palette.waitFor({ state: "detached" }); // otherwise the keys would go to the last one
    await page.keyboard.press("Control+k");
    await palette.getByRole("combobox").waitFor();
  };
  // What the menu of the conversation has, with the keyboard alone.
  await open();
  const here = palette.getByRole("group", { name: "This conversation" });
  for (const name of ["Pin to the top", "Labels", "Print", "Share", "Archive", "Delete"])
    await here.getByRole("option", { name, exact: true }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.type("labels");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Labels of “hello”" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog", { name: "Labels of “hello”" }).waitFor({ state: "detached" });
  await open();
  await page.keyboard.type("settings");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Settings" }).waitFor();
  await open();
  await palette.getByRole("option", { name: "Inbox" }).waitFor();
  expect(await here.count()).toBe(0); // there is no conversation any more
  await page.keyboard.press("Escape");
  await page.goBack();
  await state(page, "Ready");
  await open();
  await palette.getByRole("combobox").fill("find");
  await page.keyboard.press("Enter");
  await expect
    .poll(() =>
      bar(page)
        .getByRole("textbox")
        .evaluate((each) => each === document.activeElement),
    )
    .toBe(true);
});
