// The keys of shortcuts that people change.
import type { Page } from "playwright-core";
import { violations, violationsEverywhere } from "./axe";
import { Person, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

const settings = (page: Page) => page.getByRole("region", { name: "Keyboard shortcuts" });
const keyOf = (page: Page, name: string) =>
  settings(page).getByRole("button", { name: new RegExp(`^Change the key of “${name}”`) });
const rowOf = (page: Page, name: string) => page.locator(".key-settings li", { hasText: name });
const fieldOf = (page: Page, name: string) => page.getByLabel(`New key of “${name}”`);
const hasFocus = (page: Page, name: string) => () =>
  keyOf(page, name).evaluate((each) => each === document.activeElement);

async function openSettings(page: Page): Promise<void> {
  await page.goto(`${here.server.url}/settings`);
  await keyOf(page, "Inbox").waitFor();
}

/** Changes a key by mouse. */
async function change(page: Page, name: string, key: string): Promise<void> {
  await keyOf(page, name).click();
  await fieldOf(page, name).press(key);
}

test("a key is changed by mouse, works at once in all tabs and after a reload, and its old key does nothing", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const other = await person.tab("/new");
  await openSettings(page);
  await page.bringToFront();
  await change(page, "Inbox", "x");
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("x");
  await expect.poll(hasFocus(page, "Inbox")).toBe(true);
  await page.keyboard.press("g");
  expect(page.url()).toMatch(/settings$/);
  await page.keyboard.press("x");
  await page.waitForURL(/inbox$/);
  await other.bringToFront();
  await other.getByLabel("What do you want to say?").press("Escape");
  await other.keyboard.press("x");
  await other.waitForURL(/inbox$/);
  await openSettings(page);
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("x");
});

test("a key is changed, switched off and restored with the keyboard alone", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/inbox`);
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await help.getByRole("button", { name: "Change the keys" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/settings#keys$/);
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("keys");
  await keyOf(page, "Search").focus();
  await page.keyboard.press("Enter");
  await fieldOf(page, "Search").waitFor();
  expect(await violationsEverywhere(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect.poll(hasFocus(page, "Search")).toBe(true);
  expect(await keyOf(page, "Search").innerText()).toBe("s");
  await page.keyboard.press("Enter");
  await fieldOf(page, "Search").waitFor();
  await page.keyboard.press("Tab"); // it is no trap
  await fieldOf(page, "Search").waitFor({ state: "detached" });
  await keyOf(page, "Search").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Control+e");
  await expect.poll(() => keyOf(page, "Search").innerText()).toBe("Ctrl+E");
  await expect.poll(hasFocus(page, "Search")).toBe(true);
  await page.keyboard.press("Control+e");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("search");
  await page.getByRole("button", { name: "Switch off “Search”" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => keyOf(page, "Search").innerText()).toBe("Off");
  await settings(page).getByRole("status").getByText("“Search” has no key.").waitFor({ state: "attached" });
  await expect.poll(hasFocus(page, "Search")).toBe(true);
  await page.getByRole("button", { name: "Restore “Search” to s" }).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => keyOf(page, "Search").innerText()).toBe("s");
  await expect.poll(hasFocus(page, "Search")).toBe(true);
  await page.keyboard.press("s");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("search");
});

test("a key that another shortcut, the browser or typing has is refused, with the reason", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await openSettings(page);
  await keyOf(page, "Inbox").click();
  const field = fieldOf(page, "Inbox");
  for (const [key, reason] of [
    ["c", "c is the key of “New conversation”."],
    ["Control+k", "Ctrl+K is the key of “Commands and conversations”."],
    ["Control+t", "The browser needs Ctrl+T."],
    ["F5", "The browser needs F5."],
    ["Alt+d", "The browser needs Alt+D."],
    ["Enter", "Enter is needed for typing and for moving."],
    ["ArrowDown", "ArrowDown is needed for typing and for moving."],
    ["Control+v", "Ctrl+V is needed for typing and for moving."],
  ] as const) {
    await field.press(key);
    await rowOf(page, "Inbox").getByRole("alert").getByText(reason).waitFor();
  }
  expect(await violations(page)).toEqual([]);
  await field.press("x"); // it still waits
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("x");
  // The usual key is refused, too, if another shortcut has it now.
  await change(page, "Back", "g");
  await expect.poll(() => keyOf(page, "Back").innerText()).toBe("g");
  await page.getByRole("button", { name: "Restore “Inbox” to g" }).click();
  await rowOf(page, "Inbox").getByText("g is the key of “Back”.").waitFor();
  expect(await keyOf(page, "Inbox").innerText()).toBe("x");
  await page.getByRole("button", { name: "Restore all keys" }).click();
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("g");
  await expect.poll(() => keyOf(page, "Back").innerText()).toBe("b");
  expect(await page.getByRole("button", { name: "Restore all keys" }).isDisabled()).toBe(true);
});

test("a click elsewhere ends the wait for a key, and does what it is for", async ({ person, expect }) => {
  const { page } = person;
  await openSettings(page);
  await keyOf(page, "Inbox").click();
  await fieldOf(page, "Inbox").press("c");
  await rowOf(page, "Inbox").getByRole("alert").waitFor();
  await keyOf(page, "Back").click();
  await fieldOf(page, "Back").waitFor();
  expect(await fieldOf(page, "Inbox").count()).toBe(0);
  expect(await rowOf(page, "Inbox").getByRole("alert").count()).toBe(0);
  await page.getByRole("button", { name: "Switch off “Search”" }).click();
  await expect.poll(() => keyOf(page, "Search").innerText()).toBe("Off");
  expect(await fieldOf(page, "Back").count()).toBe(0);
});

test("two shortcuts exchange their keys", async ({ person, expect }) => {
  const { page } = person;
  await openSettings(page);
  await change(page, "Inbox", "x");
  await change(page, "New conversation", "g");
  await change(page, "Inbox", "c");
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("c");
  expect(await keyOf(page, "New conversation").innerText()).toBe("g");
  await page.reload();
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("c");
  expect(await keyOf(page, "New conversation").innerText()).toBe("g");
});

test("the help, the palette, tooltips and a permission show the changed keys, and not one that is off", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await openSettings(page);
  for (const [name, key] of [
    ["New conversation", "x"],
    ["Find in this conversation", "/"],
    ["Allow", "1"],
    ["Commands and conversations", "Control+i"],
  ] as const)
    await change(page, name, key);
  await page.getByRole("button", { name: "Switch off “Deny”" }).click();
  await page.getByRole("button", { name: "Switch off “Inbox”" }).click();
  const list = page.getByRole("navigation", { name: "Conversations" });
  await list.getByTitle("New conversation (x)").waitFor();
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Control+i");
  const palette = page.getByRole("combobox", { name: "Commands and conversations" });
  await palette.fill("conversation");
  await page.getByRole("option", { name: /^New conversation\s*x$/ }).waitFor();
  await palette.fill("inbox");
  await page.getByRole("option", { name: /^Inbox$/ }).waitFor();
  await page.keyboard.press("Control+i");
  await palette.waitFor({ state: "detached" });
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await expect.poll(() => help.innerText()).toMatch(/x\s+New conversation/);
  expect(await help.innerText()).not.toMatch(/\sInbox\s/);
  await page.keyboard.press("Escape");
  await person.quick("delete something");
  const request = page.getByRole("region", { name: "Permission" });
  await request.locator("kbd:not(.soon)").first().waitFor();
  expect((await request.locator("kbd").allInnerTexts()).filter((each) => each !== "a")).toEqual(["1"]);
  await page.getByTitle("Find in this conversation (/)").waitFor();
  for (const key of ["y", "n", "1"]) await page.keyboard.press(key);
  await page.locator(".decided", { hasText: "Allowed by you" }).waitFor();
});

test("the key that stops the agent is changed, and Escape only leaves the field then", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await openSettings(page);
  await change(page, "Stop the agent", "Control+.");
  await person.quick("a long answer", 0.05);
  await state(page, "Working");
  const composer = page.getByLabel("Message", { exact: true });
  await composer.focus();
  await composer.press("Escape");
  await expect.poll(() => composer.evaluate((each) => each === document.activeElement)).toBe(false);
  expect(await page.locator(".receipt").count()).toBe(0);
  await composer.press("Control+.");
  await state(page, "Stopped");
});

test("nonsense in the storage is ignored", async ({ person, expect }) => {
  const { page } = person;
  await openSettings(page);
  const texts = () => settings(page).locator("button.key").allInnerTexts();
  const usual = await texts();
  for (const nonsense of [
    "{",
    "7",
    "null",
    "[]",
    '"inbox"',
    JSON.stringify({
      inbox: "Enter",
      list: {},
      next: "",
      back: "Control+t",
      help: [],
      absent: "x",
      stop: "Mod+w",
    }),
  ]) {
    await page.evaluate((text) => localStorage.setItem("turnwire:keys", text), nonsense);
    await page.reload();
    await keyOf(page, "Inbox").waitFor();
    expect(await texts()).toEqual(usual);
  }
  await change(page, "Inbox", "x");
  await expect
    .poll(() => page.evaluate(() => JSON.parse(localStorage.getItem("turnwire:keys") ?? "{}").inbox))
    .toBe("x");
});

test("on a phone a key is typed on its keyboard, switched off and restored by touch", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  const { page } = person;
  await openSettings(page);
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Switch off “Inbox”" }).tap();
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("Off");
  await page.getByRole("button", { name: "Restore “Inbox” to g" }).tap();
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("g");
  await keyOf(page, "Inbox").tap();
  await fieldOf(page, "Inbox").waitFor();
  await page.keyboard.insertText("X"); // a keyboard on the screen tells no key
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("x");
  await keyOf(page, "Inbox").tap();
  await page.getByRole("heading", { name: "Keyboard shortcuts" }).tap();
  await fieldOf(page, "Inbox").waitFor({ state: "detached" });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  await person.leave();
});

test("signing out keeps the keys and deletes what was shown", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, {}, here.server.newLink());
  const { page } = person;
  const id = await person.begin("hello");
  await state(page, "Ready");
  await expect.poll(() => page.evaluate(() => localStorage.getItem("turnwire:shown"))).toContain(id);
  await openSettings(page);
  await change(page, "Inbox", "x");
  await expect.poll(() => keyOf(page, "Inbox").innerText()).toBe("x");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  expect(await page.evaluate(() => Object.keys(localStorage))).toEqual(["turnwire:keys"]);
  await person.leave();
});
