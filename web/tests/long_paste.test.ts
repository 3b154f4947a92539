// A long text that is pasted becomes a file of the message.
import type { Page } from "playwright-core";
import { violations } from "./axe";
import { Person, state } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const { here, test } = stage(() =>
  Server.start({ TURNWIRE_AGENTS: "web.tests.python.agents:reader,demo", PYTHONPATH: ROOT }),
);

const field = (page: Page) => page.getByLabel("Message", { exact: true });
const added = (page: Page) => page.locator(".attached li");
const notice = (page: Page) => page.locator(".notice");
const asText = (page: Page) => notice(page).getByRole("button", { name: "Paste as text" });

/** Pastes as the browser does. Returns whether the page took the text; otherwise the browser pastes it. */
async function paste(page: Page, text: string, label = "Message"): Promise<boolean> {
  return page.getByLabel(label, { exact: true }).evaluate((field, text) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", text);
    (field as HTMLElement).focus();
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    return !field.dispatchEvent(event);
  }, text);
}

/** Opens an empty conversation. */
async function open(page: Page, agent = "demo"): Promise<void> {
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { agent });
  await page.goto(`${here.server.url}/c/${id}`);
  await state(page, "Ready");
}

const LONG = "A sentence of the report. ".repeat(200);
const LINES = "line\n".repeat(150);

test("a long text becomes a file, which is sent with the message", async ({ person, expect }) => {
  const { page } = person;
  await open(page);
  await field(page).fill("Read this");
  expect(await paste(page, LONG)).toBe(true);
  await expect.poll(() => added(page).allInnerTexts()).toEqual(["pasted-text.txt"]);
  expect(await field(page).inputValue()).toBe("Read this");
  await notice(page).getByText("The long text is now the file pasted-text.txt.").waitFor();
  expect(await violations(page)).toEqual([]);
  await field(page).press("Enter");
  const said = page.locator(".row.said:not(.pending)");
  await said.getByText("pasted-text.txt").click();
  await said.locator("pre", { hasText: "A sentence of the report." }).waitFor();
  // There is nothing left to undo.
  await notice(page).waitFor({ state: "detached" });
  await state(page, "Ready");
});

test("a text of up to 5,000 characters and 150 lines is pasted as always", async ({ person, expect }) => {
  const { page } = person;
  await open(page);
  expect(await paste(page, "x".repeat(5_000))).toBe(false);
  expect(await paste(page, LINES.slice(0, -1))).toBe(false);
  expect(await added(page).count()).toBe(0);
  expect(await paste(page, "x".repeat(5_001))).toBe(true);
  expect(await paste(page, LINES)).toBe(true);
  expect(await paste(page, LINES.replaceAll("\n", "\r\n"))).toBe(true);
  await expect
    .poll(() => added(page).allInnerTexts())
    .toEqual(["pasted-text.txt", "pasted-text-2.txt", "pasted-text-3.txt"]);
});

test("Paste as text takes the file back, and puts the text at the cursor", async ({ person, expect }) => {
  const { page } = person;
  await open(page);
  await field(page).fill("Before after");
  await field(page).evaluate((each) => (each as HTMLTextAreaElement).setSelectionRange(7, 7));
  await paste(page, LONG);
  await asText(page).click();
  await expect.poll(() => field(page).inputValue()).toBe(`Before ${LONG}after`);
  expect(await added(page).count()).toBe(0);
  await expect.poll(() => field(page).evaluate((each) => each === document.activeElement)).toBe(true);
  expect(await field(page).evaluate((each) => (each as HTMLTextAreaElement).selectionEnd)).toBe(
    7 + LONG.length,
  );
  // The draft has it, too.
  await page.reload();
  await expect.poll(() => field(page).inputValue()).toBe(`Before ${LONG}after`);
});

test("the keys reach Paste as text, and Ctrl+Shift+V always pastes text", async ({ person, expect }) => {
  const { page } = person;
  await open(page);
  await field(page).focus();
  await page.keyboard.press("Control+Shift+V");
  expect(await paste(page, LONG)).toBe(false);
  await page.keyboard.press("Control+v");
  expect(await paste(page, LONG)).toBe(true);
  await asText(page).focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => field(page).inputValue()).toContain(LONG);
});

test("removing the file ends its notice", async ({ person, expect }) => {
  const { page } = person;
  await open(page);
  await paste(page, LONG);
  await paste(page, LINES);
  await expect.poll(() => notice(page).count()).toBe(2);
  await page.getByRole("button", { name: "Remove pasted-text.txt" }).click();
  await expect
    .poll(() => notice(page).allInnerTexts())
    .toEqual([expect.stringContaining("pasted-text-2.txt")]);
  // Its name is free again.
  await paste(page, LONG);
  await expect.poll(() => added(page).allInnerTexts()).toEqual(["pasted-text-2.txt", "pasted-text.txt"]);
});

test("a text of more than 100 kB that the agent does not take says so, and can still be pasted", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await open(page);
  const text = "A sentence. ".repeat(9_000);
  expect(await paste(page, text)).toBe(true);
  await notice(page)
    .getByText("The text that you pasted has 108 kB. This agent takes texts of at most 100 kB as files.")
    .waitFor();
  expect(await added(page).count()).toBe(0);
  expect(await field(page).inputValue()).toBe("");
  await asText(page).click();
  await expect.poll(() => field(page).inputValue()).toBe(text);
});

test("the first message takes a long text, too", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await page.getByRole("radio", { name: "demo" }).check();
  const label = "What do you want to say?";
  expect(await paste(page, LONG, label)).toBe(true);
  await asText(page).waitFor();
  await page.getByLabel(label).fill("Read this");
  await page.getByRole("button", { name: "Start" }).click();
  await page.locator(".row.said:not(.pending)").getByText("pasted-text.txt").waitFor();
  await notice(page).waitFor({ state: "detached" });
});

test("a finger pastes a long text as text on a phone", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  await person.beKnown();
  const { page } = person;
  await open(page);
  await paste(page, LINES);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  expect(await violations(page)).toEqual([]);
  await asText(page).tap();
  await expect.poll(() => field(page).inputValue()).toBe(LINES);
  expect(await added(page).count()).toBe(0);
  await person.leave();
});
