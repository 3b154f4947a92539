// The rail with a mark for each message of the person, and the list that it opens.
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

const NAME = "Your messages";
const rail = (page: Page) => page.getByRole("combobox", { name: NAME });
const list = (page: Page) => page.getByRole("listbox", { name: NAME });
const entry = (page: Page, name: string) => list(page).getByRole("option", { name, exact: true });
const marks = (page: Page) => page.locator(".rail-marks i");
/** The message at the top of what is in sight. */
const atTop = (page: Page) => () =>
  page.evaluate(() => {
    const top = document.querySelector(".scroller")?.getBoundingClientRect().top ?? 0;
    const rows = [...document.querySelectorAll(".row.said")];
    const first = rows.find((row) => row.getBoundingClientRect().bottom > top);
    const isNear = first && first.getBoundingClientRect().top < top + 80;
    return isNear ? (first.querySelector(".bubble") as HTMLElement).innerText : undefined;
  });
/** The position of the mark of the current place. */
const placeOn = (page: Page) => () =>
  page.evaluate(() =>
    [...document.querySelectorAll(".rail-marks i")].findIndex((each) => each.className === "here"),
  );

/** Opens the long conversation at its end. */
async function openLong(page: Page): Promise<void> {
  await page.goto(`${here.server.url}/c/long`);
  await page.locator(".row.said", { hasText: "Question 300" }).waitFor();
  await rail(page).waitFor();
}

/** Begins a conversation with these messages. */
async function converse(person: Person, messages: string[]): Promise<void> {
  const { page } = person;
  const [first = "", ...others] = messages;
  await person.quick(first);
  for (const [at, each] of others.entries()) {
    await page.waitForFunction((n) => document.querySelectorAll(".row.turn").length >= n, 1);
    await state(page, at === 0 || messages[at] !== "fail" ? "Ready" : "Failed");
    await say(page, each);
    await page.locator(".row.said:not(.pending)", { hasText: each }).waitFor();
  }
}

test("the mouse opens the list of messages at the rail, and a click jumps to one", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await openLong(page);
  const count = await marks(page).count();
  expect(count).toBeGreaterThanOrEqual(3);
  expect(count).toBeLessThanOrEqual(40);
  await expect.poll(placeOn(page)).toBe(count - 1); // at the end
  await rail(page).hover();
  await list(page).waitFor();
  expect(await violations(page)).toEqual([]);
  await marks(page)
    .nth(count - 1)
    .hover();
  await entry(page, "Question 296").click();
  await expect.poll(atTop(page)).toBe("Question 296");
  await expect.poll(() => entry(page, "Question 296").getAttribute("aria-current")).toBe("true");
  // A mark leads there, too.
  await marks(page).first().click();
  const isFar = async () => Number((await atTop(page)())?.replace(/\D+/, "") ?? 300);
  await expect.poll(isFar).toBeLessThan(290);
  // Older messages are loaded then, and the mark stays with its message.
  const current = list(page).locator("[aria-current=true]");
  await expect.poll(async () => (await current.innerText()) === (await atTop(page)())).toBe(true);
  await page.mouse.move(600, 300);
  await list(page).waitFor({ state: "detached" });
});

test("the current mark follows the scrolling", async ({ person, expect }) => {
  const { page } = person;
  await openLong(page);
  const last = (await marks(page).count()) - 1;
  await expect.poll(placeOn(page)).toBe(last);
  await page.locator(".scroller").hover();
  const up = async () => {
    await page.mouse.wheel(0, -400);
    return placeOn(page)();
  };
  await expect.poll(up).toBeLessThan(last - 2);
  await page.getByRole("button", { name: "Go to the newest message" }).click();
  await expect.poll(placeOn(page)).toBe((await marks(page).count()) - 1);
});

test("the rail is one stop of the Tab key, the arrows choose, and Enter jumps into the messages", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await openLong(page);
  // It stands between the messages and the dock.
  await page.getByLabel("Message", { exact: true }).focus();
  await page.keyboard.press("Shift+Tab");
  expect(await rail(page).evaluate((each) => each === document.activeElement)).toBe(true);
  await list(page).waitFor();
  const chosen = () => list(page).locator("[aria-selected=true]").innerText();
  const active = () => rail(page).getAttribute("aria-activedescendant");
  await expect.poll(chosen).toBe("Question 300");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await expect.poll(chosen).toBe("Question 298");
  expect(await list(page).locator("[aria-selected=true]").getAttribute("id")).toBe(await active());
  await page.keyboard.press("PageUp");
  await page.keyboard.press("ArrowDown");
  await expect.poll(chosen).toBe("Question 290");
  await page.keyboard.press("Enter");
  await expect.poll(atTop(page)).toBe("Question 290");
  await list(page).waitFor({ state: "detached" });
  expect(await page.locator(".scroller").evaluate((each) => each === document.activeElement)).toBe(true);
  await rail(page).focus();
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("composer");
  await list(page).waitFor({ state: "detached" });
});

test("Escape closes the list, and does not stop the turn", async ({ person, expect }) => {
  const { page } = person;
  await converse(person, ["one", "two", "ask me a question"]);
  await state(page, "Waiting for you");
  await rail(page).focus();
  await page.keyboard.press("ArrowDown");
  await list(page).waitFor();
  await page.keyboard.press("Escape");
  await list(page).waitFor({ state: "detached" });
  expect(await page.locator(".state-words").innerText()).toBe("Waiting for you");
  await page.getByRole("button", { name: "Stop" }).click();
});

test("older messages are loaded from the list", async ({ person, expect }) => {
  const { page } = person;
  await openLong(page);
  await rail(page).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Home");
  const size = async () => Number(await list(page).getByRole("option").first().getAttribute("aria-setsize"));
  const older = list(page).getByRole("option", { name: /older messages/ });
  // Each time one page of messages, until all are there. Others may load meanwhile.
  for (let before = await size(); (await older.count()) > 0; before = await size()) {
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await size()) > before || (await older.count()) === 0).toBe(true);
  }
  await page.keyboard.press("Home");
  await entry(page, "Question 1").waitFor();
  expect(await size()).toBe(300);
  expect(await marks(page).count()).toBe(40); // each for several messages
  expect(await list(page).getByRole("option").count()).toBeLessThan(60);
  await page.keyboard.press("Enter");
  await page.locator(".row.said .bubble", { hasText: /^Question 1$/ }).waitFor();
  await expect.poll(placeOn(page)).toBe(0);
});

test("a failed turn, an open request and the hit of a search have marks of their own", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await converse(person, ["one", "fail", "two", "permission"]);
  await state(page, "Waiting for you");
  const kinds = () => marks(page).evaluateAll((all) => all.map((each) => each.getAttribute("data-kind")));
  await expect.poll(kinds).toEqual(["said", "said", "failed", "said", "said", "asks"]);
  await rail(page).focus();
  await page.keyboard.press("ArrowDown");
  await list(page)
    .getByRole("option", { name: /^Waits for you: / })
    .waitFor();
  await list(page)
    .getByRole("option", { name: /^Failed: / })
    .click();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+f");
  await page.getByRole("search", { name: "Find in this conversation" }).getByRole("textbox").fill("fail");
  await expect.poll(async () => (await kinds()).filter((each) => each === "hit").length).toBe(1);
  await expect.poll(() => page.locator(".rail-marks .here").getAttribute("data-kind")).toBe("hit");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: /^Deny/ }).first().click();
});

test("there is no rail with two messages, on a narrow page and on paper", async ({ person, expect }) => {
  const { page } = person;
  await converse(person, ["one", "two"]);
  await state(page, "Ready");
  expect(await rail(page).count()).toBe(0);
  await say(page, "three");
  await rail(page).waitFor();
  await page.setViewportSize({ width: 900, height: 800 });
  await rail(page).waitFor({ state: "hidden" });
  await page.setViewportSize({ width: 1280, height: 800 });
  await rail(page).waitFor();
  await page.emulateMedia({ media: "print" });
  await rail(page).waitFor({ state: "hidden" });
  await page.emulateMedia({ media: null });
});

test("a finger opens the list from the menu on a phone, and jumps", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  await person.beKnown();
  const { page } = person;
  await page.goto(`${here.server.url}/c/long`);
  await page.locator(".row.said", { hasText: "Question 300" }).waitFor();
  await page.locator(".rail-marks .here").waitFor({ state: "attached" });
  await page.locator(".talk-header").getByRole("button", { name: "More" }).tap();
  await page.getByRole("menuitem", { name: NAME }).tap();
  const dialog = page.getByRole("dialog", { name: NAME });
  await dialog.waitFor();
  expect(await violations(page)).toEqual([]);
  await entry(page, "Question 297").tap();
  await dialog.waitFor({ state: "detached" });
  await expect.poll(atTop(page)).toBe("Question 297");
  await person.leave();
});

test("a finger opens the list at the rail of a tablet, and closes it by choosing", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 1280, height: 800 },
    hasTouch: true,
  });
  await person.beKnown();
  const { page } = person;
  await openLong(page);
  await rail(page).tap();
  await entry(page, "Question 297").tap();
  await expect.poll(atTop(page)).toBe("Question 297");
  await list(page).waitFor({ state: "detached" });
  await person.leave();
});

test("the palette opens the list as a dialog, and the keys choose in it", async ({ person, expect }) => {
  const { page } = person;
  await openLong(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Commands and conversations" }).waitFor();
  await page.keyboard.type("your messages");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: NAME }).waitFor();
  await expect.poll(() => list(page).evaluate((each) => each === document.activeElement)).toBe(true);
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: NAME }).waitFor({ state: "detached" });
  await expect.poll(atTop(page)).toBe("Question 298");
});
