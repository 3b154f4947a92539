// Unsent text survives a reload, and is deleted when its request or conversation is gone.
import type { Page } from "playwright-core";
import { saidOn, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

/** Returns the names of the stored texts of this conversation. */
const keptOf = (page: Page, id: string) => () =>
  page.evaluate(
    (id) =>
      Object.keys(localStorage).filter((name) => /:(draft|answer|edit):/.test(name) && name.includes(id)),
    id,
  );

test("an unsent answer survives a reload, and is deleted when any tab has answered", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("a form");
  await page.getByLabel("Green").check();
  await page.getByLabel("Large").check();
  await page.locator(".request .own").last().fill("and huge");
  await page.reload();
  await expect.poll(() => page.getByLabel("Green").isChecked()).toBe(true);
  expect(await page.getByLabel("Large").isChecked()).toBe(true);
  expect(await page.getByLabel("Small").isChecked()).toBe(false);
  expect(await page.locator(".request .own").last().inputValue()).toBe("and huge");

  const inbox = await person.tab("/inbox");
  const card = inbox.locator(".cards > li", { has: inbox.locator(`a[href$="${id}"]`) });
  await expect.poll(() => card.getByLabel("Green").isChecked()).toBe(true);
  await card.getByRole("button", { name: "Answer" }).click();
  await card.waitFor({ state: "detached" });
  await page.bringToFront();
  await state(page, "Ready");
  await page.locator(".chosen", { hasText: "Green" }).waitFor();
  await expect.poll(keptOf(page, id)).toEqual([]);
});

test("an answer of another client deletes the unsent answer in the browser", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("ask me a question");
  await page.locator(".request .own").fill("pink");
  await expect.poll(keptOf(page, id)).toHaveLength(1);
  const { items } = await here.server.ask<{ items: { inbox_item_id: string; conversation_id: string }[] }>(
    "GET",
    "/api/inbox",
  );
  const item = items.find((each) => each.conversation_id === id)?.inbox_item_id ?? "";
  await here.server.ask("POST", `/api/inbox/${encodeURIComponent(item)}/answer`, { answer: "Blue" });
  await page.getByText("Blue it is").waitFor();
  await expect.poll(keptOf(page, id)).toEqual([]);
});

test("an unsent reply to a permission survives a reload, until it is discarded or sent", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("delete something");
  const bar = page.getByRole("region", { name: "Permission" });
  await bar.getByRole("button", { name: "Edit", exact: true }).click();
  await bar.getByRole("textbox").fill("ls -l");
  await page.reload();
  await expect.poll(() => bar.getByRole("textbox").inputValue()).toBe("ls -l");
  await bar.getByRole("button", { name: "Back" }).click();
  await expect.poll(keptOf(page, id)).toEqual([]);

  await bar.getByRole("button", { name: "Deny, with a reason" }).click();
  await bar.getByRole("textbox").fill("not today");
  await page.reload();
  await expect.poll(() => bar.getByRole("textbox").inputValue()).toBe("not today");
  await bar.getByRole("button", { name: "Deny" }).click();
  await state(page, "Ready");
  await page.getByText("not today").first().waitFor();
  await expect.poll(keptOf(page, id)).toEqual([]);
});

test("an edit of a queued message survives navigation and the removal of the message", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("ask me a question");
  await state(page, "Waiting for you");
  for (const words of ["first", "second"]) await say(page, words);
  const queue = page.getByRole("region", { name: "Queued messages" });
  const edit = (words: string) =>
    queue.locator("li", { hasText: words }).getByRole("button", { name: "Edit this message" }).click();
  await edit("second");
  await queue.getByRole("textbox").fill("second, but better");
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await page.goBack();
  await expect.poll(() => queue.getByRole("textbox").inputValue()).toBe("second, but better");
  await page.reload();
  await expect.poll(() => queue.getByRole("textbox").inputValue()).toBe("second, but better");
  await queue.getByRole("textbox").press("Enter");
  await expect.poll(() => queue.locator(".text").allTextContents()).toEqual(["first", "second, but better"]);
  await expect.poll(keptOf(page, id)).toEqual([]);

  // Escape discards an edit. If the message is removed meanwhile, its edited text goes to the composer, once.
  await edit("first");
  await queue.getByRole("textbox").fill("never");
  await queue.getByRole("textbox").press("Escape");
  await expect.poll(keptOf(page, id)).toEqual([]);
  await edit("first");
  await queue.getByRole("textbox").fill("first, changed");
  await page.goto(`${here.server.url}/inbox`);
  const other = await person.tab(`/c/${id}`);
  await other.locator(".queue li", { hasText: "first" }).getByRole("button", { name: "Edit" }).click();
  expect(await other.locator(".queue textarea").inputValue()).toBe("first, changed");
  await other.locator(".queue textarea").fill("first, changed again");
  await other.goto("about:blank");
  await page.goto(`${here.server.url}/c/${id}`);
  await expect.poll(() => queue.getByRole("textbox").inputValue()).toBe("first, changed again");
  const second = await person.tab(`/c/${id}`);
  await second.locator(".queue li", { hasText: "first" }).waitFor(); // another tab shows it in the queue
  await page.getByRole("button", { name: "Stop" }).click();
  await queue.getByText("held").waitFor();
  await queue.getByRole("button", { name: "Continue" }).click();
  await expect
    .poll(() => page.getByLabel("Message", { exact: true }).inputValue())
    .toBe("first, changed again");
  await expect
    .poll(() => second.getByLabel("Message", { exact: true }).inputValue())
    .toBe("first, changed again");
});

test("deleting a conversation deletes its unsent texts, in every tab", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("ask me a question");
  await state(page, "Waiting for you");
  await page.locator(".request .own").fill("pink");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("a secret");
  await expect.poll(keptOf(page, id)).toHaveLength(2);
  const second = await person.tab(`/c/${id}`);
  const other = second.getByLabel("Message", { exact: true });
  await expect.poll(() => other.inputValue()).toBe("a secret");
  await page.getByRole("main").getByRole("button", { name: "More" }).click();
  await other.pressSequentially(", and more"); // typed just before the conversation is deleted
  await page.getByRole("menuitem", { name: "Delete" }).click();
  const notice = page.locator(".notice", { hasText: "will be deleted" });
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await second.getByRole("heading", { name: "This conversation was deleted" }).waitFor();
  for (const tab of [page, second]) await expect.poll(keptOf(tab, id)).toEqual([]);
  await second.goto(`${here.server.url}/inbox`);
  await second.getByRole("heading", { name: "Inbox" }).waitFor();
  await expect.poll(keptOf(page, id)).toEqual([]);
});

test("an unsent answer is still in the form after a visit to the inbox", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("ask me a question");
  const own = page.getByRole("region", { name: "Question" }).getByLabel("Something else");
  await own.fill("something between");
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("main").getByLabel("Something else").first().waitFor(); // other conversations have questions, too
  await page.goBack();
  await expect.poll(() => own.inputValue()).toBe("something between");
  await own.press("Enter");
  await page.locator("details.tool").getByText("something between").waitFor();
});

test("all tabs share a draft, and none of them deletes the text of another", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("hello");
  await state(page, "Ready");
  const field = page.getByLabel("Message", { exact: true });
  const second = await person.tab(`/c/${id}`);
  const other = second.getByLabel("Message", { exact: true });
  await other.waitFor();
  await field.fill("not yet");
  await expect.poll(() => other.inputValue()).toBe("not yet");
  await page.goto("about:blank");
  await second.getByRole("link", { name: "Inbox" }).click(); // no text was typed there
  await page.goto(`${here.server.url}/c/${id}`);
  await expect.poll(() => field.inputValue()).toBe("not yet");
  await second.goBack();
  await expect.poll(() => other.inputValue()).toBe("not yet");
  await field.press("Enter");
  await expect.poll(() => other.inputValue()).toBe("");
  await state(page, "Ready");
  await second.reload();
  await expect.poll(saidOn(second)).toEqual(["hello", "not yet"]);
  expect(await other.inputValue()).toBe("");
});

test("a draft survives a reload, and the arrow up key brings back earlier messages", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("not yet");
  await expect.poll(() => page.evaluate(() => Object.values(localStorage).includes("not yet"))).toBe(true);
  await page.reload();
  await expect.poll(() => field.inputValue()).toBe("not yet");
  await page.locator(".row.said", { hasText: "hello" }).waitFor();
  await field.fill("");
  await field.press("ArrowUp");
  expect(await field.inputValue()).toBe("hello");
  await field.press("Enter");
  await expect.poll(saidOn(page)).toEqual(["hello", "hello"]);
});
