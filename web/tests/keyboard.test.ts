// Keyboard shortcuts, Escape, dialogs and the focus.
import type { Locator } from "playwright-core";
import { violations } from "./axe";
import { pressIn, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

test("every page has a keyboard shortcut, and ? lists the shortcuts", async ({ person, expect }) => {
  const { page } = person;
  await person.goHome();
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
  await page.keyboard.press("Escape");
  await page.keyboard.press("b"); // the history of this page is empty: it stays
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).getByText("Stop the agent").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.waitForURL(/inbox$/);
  await page.keyboard.press("b");
  await page.getByRole("heading", { name: "Talk to an agent" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("c");
  const words = page.getByLabel("What do you want to say?");
  await words.fill("hello");
  await words.press("Enter");
  await page.waitForURL(/\/c\/\w+$/);
  await state(page, "Ready");
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
});

test("the list is hidden and shown again, by mouse and by key, also after a reload", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/inbox`);
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  const list = page.getByRole("navigation", { name: "Conversations" });
  const show = page.getByRole("main").getByRole("button", { name: "Conversations" });
  const hide = list.getByRole("button", { name: "Hide the list" });
  const hasFocus = (each: Locator) => () => each.evaluate((it) => it === document.activeElement);
  expect(await show.isVisible()).toBe(false);
  await hide.click();
  await list.waitFor({ state: "hidden" });
  await expect.poll(hasFocus(show)).toBe(true);
  expect(await violations(page)).toEqual([]);
  await page.reload();
  await show.waitFor();
  expect(await list.isVisible()).toBe(false);
  await show.click();
  await list.waitFor();
  await expect.poll(hasFocus(hide)).toBe(true);
  await page.keyboard.press("l");
  await list.waitFor({ state: "hidden" });
  await page.keyboard.press("s"); // the search is in the list
  await expect.poll(hasFocus(list.getByRole("searchbox"))).toBe(true);
  // Narrower, the list covers the page and is closed at first; wider again, it is as it was.
  await page.setViewportSize({ width: 375, height: 667 });
  await list.waitFor({ state: "hidden" });
  await page.setViewportSize({ width: 1280, height: 800 });
  await list.waitFor();
});

test("a conversation without the list beside it offers a new one", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const again = page.getByRole("main").getByRole("link", { name: "New conversation" });
  expect(await again.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Hide the list" }).click();
  await again.waitFor();
  await page.getByRole("main").getByRole("button", { name: "Conversations" }).click();
  await again.waitFor({ state: "hidden" });
  await page.setViewportSize({ width: 360, height: 667 });
  await again.waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(360);
  await again.click();
  await page.getByLabel("What do you want to say?").waitFor();
});

test("Escape leaves a form without stopping the agent", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Deny, with a reason" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox").focus();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Edit", exact: true }).waitFor();
  expect(await page.locator(".state-words").innerText()).toBe("Waiting for you");
  expect(await page.locator(".receipt").count()).toBe(0);
});

test("an open dialog takes all keys: Escape closes it and does not stop the agent", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("a long answer", 0.05);
  await state(page, "Working");
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  await page.locator(".scroller").click();
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await sheet.waitFor();
  await page.keyboard.press("g"); // opens the inbox if no dialog is open
  await page.keyboard.press("Escape");
  await expect.poll(() => sheet.count()).toBe(0);
  expect(page.url()).toMatch(/\/c\//);
  await page.locator(".markdown strong", { hasText: "3." }).waitFor(); // the answer continues
  expect(await page.locator(".receipt").count()).toBe(0);
  await page.keyboard.press("Escape");
  await state(page, "Stopped");
});

test("keys for a permission do nothing while a dialog covers it", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.locator("kbd:not(.soon)").first().waitFor();
  const said = page.locator(".row.said");
  await pressIn(said, "Inspect");
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await layers.getByRole("region", { name: "Frame" }).waitFor();
  for (const key of ["y", "a", "n"]) await page.keyboard.press(key);
  await page.keyboard.press("Escape");
  await expect.poll(() => layers.count()).toBe(0);
  expect(await page.locator(".decided").count()).toBe(0);
  await page.getByRole("region", { name: "Permission" }).locator("kbd:not(.soon)").first().waitFor();
  await page.keyboard.press("n");
  await page.locator(".decided", { hasText: "Denied by you" }).waitFor();
});

test("the focus moves to a new question, and back to the composer afterwards", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("ask me a question");
  await page.getByRole("region", { name: "Question" }).waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("radio");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByText("Green it is").waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("composer");
});
