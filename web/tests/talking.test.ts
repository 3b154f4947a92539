// A person, a browser, a real server and the demo agent.
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { openBrowser, Person, say, state } from "./browser";
import { Server } from "./server";

let browser: Browser;
let server: Server;
let person: Person;

beforeAll(async () => {
  [browser, server] = await Promise.all([openBrowser(), Server.start()]);
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});
beforeEach(async () => {
  person = await Person.enter(browser, server);
});
afterEach(async () => {
  expect(person.problems).toEqual([]);
  await person.leave();
});

test("the link lets a browser in once, and leaves no secret in it", async () => {
  const link = server.newLink();
  const other = await browser.newContext();
  const page = await other.newPage();
  await page.goto(link);
  await page.getByRole("heading", { name: "Talk to an agent" }).waitFor();
  expect(page.url()).toBe(`${server.url}/`);
  expect(
    await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }) + document.cookie),
  ).toBe("{}");
  await page.goto(link);
  await page.getByText("This link was used").waitFor();
  await other.close();
});

test("whoever is not known is told how to come in", async () => {
  const stranger = await browser.newContext();
  const page = await stranger.newPage();
  await page.goto(`${server.url}/inbox`);
  await page.getByRole("heading", { name: "Who is there?" }).waitFor();
  await page.getByText("turnwire token link").waitFor();
  await stranger.close();
});

test("an answer is streamed, and its tool is a card with the command and what it printed", async () => {
  const { page } = person;
  await person.begin("use a tool");
  await state(page, "Working");
  const card = page.locator("details.tool.command");
  await card.getByText("ls -l").waitFor();
  await card.getByText("notes.txt").waitFor();
  await page.locator(".markdown", { hasText: "There are three of them" }).waitFor();
  await state(page, "Ready");
  expect(await page.locator(".row.said").allInnerTexts()).toEqual(["use a tool"]);
  await page
    .locator(".row.turn")
    .getByText(/\d+ in · \d+ out/)
    .waitFor();
  await page.locator("nav .list").getByText("use a tool").waitFor();
});

test("a question is answered with an option, and the card shows who said what", async () => {
  const { page } = person;
  await person.quick("ask me a question");
  await state(page, "Waits for you");
  const form = page.getByRole("region", { name: "Question" });
  await form.getByRole("button", { name: "Answer" }).click();
  await form.getByText("Every question needs an answer.").waitFor();
  await form.getByLabel("Green").check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page.locator(".answered", { hasText: "Green" }).waitFor();
  await page.getByText("Green it is").waitFor();
  await state(page, "Ready");
});

test("a question is answered in own words", async () => {
  const { page } = person;
  await person.quick("ask me a question");
  await page.getByLabel("Something else").fill("Ultramarine");
  await page.getByLabel("Something else").press("Enter");
  await page.getByText("Ultramarine it is").waitFor();
});

test("the key y allows, and the bar shows exactly what runs", async () => {
  const { page } = person;
  await person.quick("delete something");
  const bar = page.getByRole("region", { name: "Permission" });
  expect((await bar.locator(".command-line code").innerText()).trim()).toBe("rm -r build");
  await page.locator(".timeline").click({ position: { x: 5, y: 5 } });
  await page.keyboard.press("y");
  await page.getByText("Allowed by owner").waitFor();
  await state(page, "Ready");
});

test("a permission is denied with a reason", async () => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Deny, with a reason" }).click();
  await page.getByPlaceholder("Why not?").fill("not today");
  await page.keyboard.press("Enter");
  await page.locator(".decided", { hasText: "Denied by owner" }).getByText("not today").waitFor();
});

test("a permission is given for another command than the one that was asked for", async () => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Change it" }).click();
  await page.getByRole("textbox", { name: "Change it" }).fill("rm -r build/tmp");
  await page.getByRole("button", { name: "Allow as changed" }).click();
  await page.getByText("What ran instead").waitFor();
  await page.locator(".markdown code", { hasText: "rm -r build/tmp" }).waitFor();
});

test("what is always allowed is not asked again", async () => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Always" }).click();
  await state(page, "Ready");
  await say(page, "delete it again");
  await page.locator("details.tool.command").nth(1).getByText("removed directory").waitFor();
  await state(page, "Ready");
});

test("Escape stops the agent, and a receipt says what it did", async () => {
  const { page } = person;
  await person.quick("a long answer", 0.05);
  await page.locator(".markdown").getByText("1", { exact: false }).first().waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".receipt", { hasText: "the agent obeyed" }).waitFor();
  await state(page, "Stopped");
});

test("messages that wait can be seen, moved, edited, removed and continued", async () => {
  const { page } = person;
  await person.quick("a long answer", 0.05);
  await state(page, "Working");
  for (const words of ["first", "second", "third"]) await say(page, words);
  const queue = page.getByRole("region", { name: "Waiting messages" });
  await queue.getByText("3 messages wait").waitFor();
  await queue.locator("li", { hasText: "third" }).getByRole("button", { name: "Earlier" }).click();
  await expect.poll(() => queue.locator(".text").allInnerTexts()).toEqual(["first", "third", "second"]);
  await queue.locator("li", { hasText: "first" }).getByRole("button", { name: "Later" }).click();
  await expect.poll(() => queue.locator(".text").allInnerTexts()).toEqual(["third", "first", "second"]);
  await queue
    .locator("li", { hasText: "second" })
    .getByRole("button", { name: "Remove this message" })
    .click();
  await queue.locator("li", { hasText: "first" }).getByRole("button", { name: "Edit this message" }).click();
  await queue.getByRole("textbox").fill("the other one");
  await queue.getByRole("textbox").press("Enter");
  await expect.poll(() => queue.locator(".text").allInnerTexts()).toEqual(["third", "the other one"]);
  await page.getByRole("button", { name: "Stop" }).click();
  await queue.getByText("held").waitFor();
  await queue.getByRole("button", { name: "Continue" }).click();
  await expect
    .poll(() => page.locator(".row.said").allInnerTexts())
    .toEqual(["a long answer", "third", "the other one"]);
  await state(page, "Ready");
});

test("two tabs are in step, and what is answered in one is gone from the other", async () => {
  const id = await person.quick("think, use a tool, ask me a question");
  const first = person.page;
  const second = await person.tab(`/c/${id}`);
  await state(second, "Waits for you");
  await second.getByLabel("Blue").check();
  await second.getByRole("button", { name: "Answer" }).click();
  await first.locator(".answered", { hasText: "Blue" }).waitFor();
  await Promise.all([state(first, "Ready"), state(second, "Ready")]);
  expect(await first.getByRole("region", { name: "Question" }).count()).toBe(0);
  // A row that the browser has not measured yet has no inner text, but its words are there.
  const rows = (page: typeof first) => page.locator(".markdown").allTextContents();
  await expect.poll(() => rows(first)).toEqual(await rows(second));
});

test("a reload in mid-answer shows everything once, and goes on", async () => {
  const { page } = person;
  await person.quick("a long answer", 0.01);
  await page.locator(".markdown").getByText("2", { exact: false }).first().waitFor();
  await page.reload();
  await state(page, "Working");
  await state(page, "Ready");
  const whole = await page.locator(".markdown").allInnerTexts();
  await page.reload();
  await state(page, "Ready");
  await expect.poll(() => page.locator(".markdown").allInnerTexts()).toEqual(whole);
  expect(await page.locator(".row.said").count()).toBeLessThanOrEqual(1);
});

test("a draft is kept, and arrow up brings back what was said", async () => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("not yet");
  await expect.poll(() => page.evaluate(() => Object.values(localStorage).includes("not yet"))).toBe(true);
  await page.reload();
  await expect.poll(() => field.inputValue()).toBe("not yet");
  await field.fill("");
  await field.press("ArrowUp");
  expect(await field.inputValue()).toBe("hello");
  await field.press("Enter");
  await expect.poll(() => page.locator(".row.said").allTextContents()).toEqual(["hello", "hello"]);
});

test("a conversation is renamed, found, exported, archived, taken out again and deleted", async () => {
  const { page } = person;
  const id = await person.quick("hello zebra");
  await state(page, "Ready");
  await page.getByRole("button", { name: "hello zebra" }).click();
  await page.getByRole("textbox", { name: "Rename" }).fill("Striped animals");
  await page.keyboard.press("Enter");
  await page.locator("nav").getByText("Striped animals").waitFor();
  await page.getByRole("searchbox").fill("zebra");
  await page.keyboard.press("Enter");
  await page.locator(".hits mark", { hasText: "zebra" }).first().click();
  await page.waitForURL(new RegExp(`/c/${id}\\?at=`));
  await page.locator(".sought").waitFor();

  await page.locator("main").getByRole("button", { name: "More" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export, to import it again" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("conversation.jsonl");
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Archive" }).click();
  await expect.poll(() => page.locator("nav").getByText("Striped animals").count()).toBe(0);
  await page.getByRole("button", { name: "Archived" }).click();
  await page.locator("nav").getByText("Striped animals").click();
  await page.getByRole("heading", { name: "Closed" }).waitFor();
  await page.getByRole("button", { name: "Take out of the archive" }).click();
  await state(page, "Ready");
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("menuitem", { name: "Delete for good" }).click();
  await page.getByText("“Striped animals” is deleted").waitFor();
  await expect(server.ask("GET", `/api/conversations/${id}`)).rejects.toThrow("404");
});

test("the inbox has what waits in all conversations, and what is answered elsewhere disappears", async () => {
  const { page } = person;
  const first = await person.quick("ask me a question");
  await state(page, "Waits for you");
  await person.quick("delete something");
  await page.locator("nav .badge", { hasText: "2" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("nav").getByRole("link", { name: "Inbox" }).click();
  const items = page.locator(".cards > li");
  await expect.poll(() => items.count()).toBeGreaterThanOrEqual(1);
  const [item] = (
    await server.ask<{ items: { inbox_item_id: string; conversation_id: string }[] }>("GET", "/api/inbox")
  ).items.filter((each) => each.conversation_id === first);
  const shown = items.filter({ hasText: "Which colour shall it be?" });
  await shown.waitFor();
  await server.ask("POST", `/api/inbox/${item?.inbox_item_id}/answer`, { answer: "Red" });
  await expect.poll(() => shown.count(), { timeout: 2000 }).toBe(0);
});

test("an answer in the inbox reaches the agent", async () => {
  const { page } = person;
  const id = await person.quick("ask me a question");
  await state(page, "Waits for you");
  const inbox = await person.tab("/inbox");
  const mine = inbox.locator(".cards > li", { has: inbox.locator(`a[href$="/c/${id}"]`) });
  await mine.getByLabel("Red").check();
  await mine.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Red it is").waitFor();
  await expect.poll(() => mine.count()).toBe(0);
});

test("a message can be seen in its layers", async () => {
  const { page } = person;
  await person.quick("use a tool");
  await state(page, "Ready");
  const card = page.locator(".row", { has: page.locator("details.tool.command") });
  await card.hover();
  await card.getByRole("button", { name: "Inspect" }).click();
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await layers.getByRole("region", { name: "Frame" }).getByText("assistant.tool_call").waitFor();
  await layers.getByRole("region", { name: "Shown" }).getByText("ls -l").first().waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => layers.count()).toBe(0);
});

test("everything can be reached by keys, and ? says how", async () => {
  const { page } = person;
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).getByText("Stop the agent").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.waitForURL(/inbox$/);
  await page.keyboard.press("c");
  await page.getByLabel("What do you want to say?").fill("hello");
  await page.keyboard.press("Enter");
  await state(page, "Ready");
  await page.locator("body").press("t");
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
});
