// Messages that are refused, queued, dropped on the page, or sent without a connection.
import type { Page } from "playwright-core";
import { violations } from "./axe";
import { saidOn, say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

/** A small limit, so that a short text is already too long. */
const { here, test } = stage(() => Server.start({ TURNWIRE_MAX_FRAME_BYTES: "50000" }));

interface Sent {
  content: { text: string }[];
}

test("the text of a refused message goes back to the composer", async ({ person, expect }) => {
  const { page } = person;
  const long = "many words ".repeat(5_000).trim();
  await person.begin(long);
  await page.getByText("The message is too long").waitFor();
  const field = page.getByLabel("Message", { exact: true });
  await expect.poll(() => field.inputValue()).toBe(long);
  await field.press("Enter");
  await expect.poll(() => field.inputValue()).toBe(long);
  expect(await page.evaluate(() => Object.keys(localStorage).filter((name) => /:sent:/.test(name)))).toEqual(
    [],
  );
});

test("queued messages can be moved, edited, removed and continued", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("ask me a question");
  await state(page, "Waiting for you");
  for (const words of ["first", "second", "third"]) await say(page, words);
  const queue = page.getByRole("region", { name: "Queued messages" });
  await queue.getByText("3 queued messages").waitFor();
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
  await queue.getByRole("textbox").press("Shift+Enter");
  await queue.getByRole("textbox").pressSequentially("in two lines");
  await queue.getByRole("textbox").press("Enter");
  const both = "the other one\nin two lines";
  await expect.poll(() => queue.locator(".text").allTextContents()).toEqual(["third", both]);
  await queue.locator("li", { hasText: "other" }).getByRole("button", { name: "Edit this message" }).click();
  expect(await queue.getByRole("textbox").inputValue()).toBe(both);
  await queue.getByRole("textbox").press("Escape");

  // Another tab removes a message during an edit: the edited text is not lost.
  await queue.locator("li", { hasText: "third" }).getByRole("button", { name: "Edit this message" }).click();
  await queue.getByRole("textbox").fill("third, but better");
  const other = await person.tab(`/c/${id}`);
  await other
    .locator(".queue li", { hasText: "third" })
    .getByRole("button", { name: "Remove this message" })
    .click();
  await page.getByText("is no longer in the queue. Your text is below.").waitFor();
  const field = page.getByLabel("Message", { exact: true });
  expect(await field.inputValue()).toBe("third, but better");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("composer");
  await field.fill("");
  await page.getByRole("button", { name: "Stop" }).click();
  await queue.getByText("held").waitFor();
  await queue.getByRole("button", { name: "Continue" }).click();
  await page.locator(".row.said", { hasText: "the other one" }).waitFor();
  await state(page, "Ready");
  const { messages } = await here.server.ask<{ messages: { event: { type: string; payload: Sent } }[] }>(
    "GET",
    `/api/conversations/${id}/messages?limit=200`,
  );
  const said = messages.flatMap(({ event }) =>
    event.type === "user.message" ? event.payload.content.map(({ text }) => text) : [],
  );
  expect(said).toEqual(["ask me a question", both]);
});

test("files dropped on the page are not opened by the browser, and a refusal gives the reason", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("hello");
  await drop(page, "picture.png", "image/png");
  await page.getByText("This agent does not take pictures.").waitFor();
  await drop(page, "words.pdf", "application/pdf", "\0");
  await page.getByText("words.pdf cannot be added: this agent does not take such files.").waitFor();
  const [title, notice] = await Promise.all([
    page.locator(".talk-header").boundingBox(),
    page.locator(".notice").first().boundingBox(),
  ]);
  expect(notice?.y).toBeGreaterThanOrEqual((title?.y ?? 0) + (title?.height ?? 0));
  // Office programs copy text together with an image of it: the text is pasted.
  const isLeft = await page.getByLabel("Message", { exact: true }).evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "some words");
    clipboardData.items.add(new File(["x"], "words.png", { type: "image/png" }));
    return field.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
    );
  });
  expect(isLeft).toBe(true);
  expect(await page.locator(".notice").count()).toBeLessThanOrEqual(2);
  expect(page.url()).toBe(`${here.server.url}/c/${id}`);
});

test("the page says that it is offline, and sends messages of that time once", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  await person.context.setOffline(true);
  await page.locator(".line-banner.shown", { hasText: "You are offline" }).waitFor();
  await state(page, "Offline");
  await say(page, "are you there?");
  await page.locator(".row.pending", { hasText: "are you there?" }).waitFor();
  await person.context.setOffline(false);
  await page.locator(".row.said:not(.pending)", { hasText: "are you there?" }).waitFor();
  await page.locator(".line-banner:not(.shown)").waitFor({ state: "attached" });
  await state(page, "Ready");
  await expect.poll(saidOn(page)).toEqual(["hello", "are you there?"]);
});

test("a text file is added by dropping, pasting and choosing, and sent with the message", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("hello");
  await state(page, "Ready");
  await drop(page, "dropped.txt", "text/plain", "first text");
  await page.getByLabel("Message", { exact: true }).evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File(["second text"], "pasted.csv", { type: "text/csv" }));
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
  const chosen = { name: "chosen.py", mimeType: "text/x-python", buffer: Buffer.from("print(1)\n") };
  await page.getByLabel("Add files").setInputFiles([chosen, { ...chosen, name: "other.py" }]);
  const added = page.locator(".attached [data-kind=file]");
  await expect.poll(() => added.count()).toBe(4);
  await page.getByRole("button", { name: "Remove other.py" }).click();
  await expect.poll(() => added.allInnerTexts()).toEqual(["dropped.txt", "pasted.csv", "chosen.py"]);
  expect(await violations(page)).toEqual([]);
  await say(page, "Read these");
  const said = page.locator(".row.said", { hasText: "Read these" });
  await expect
    .poll(() => said.locator("summary").allInnerTexts())
    .toEqual(
      [" dropped.txt", " pasted.csv", " chosen.py"].map((name) => expect.stringContaining(name.trim())),
    );
  await said.getByText("dropped.txt").click();
  await said.getByText("first text").waitFor();
  expect(await added.count()).toBe(0);
  const { messages } = await here.server.ask<{ messages: { event: { type: string; payload: Sent } }[] }>(
    "GET",
    `/api/conversations/${id}/messages?limit=200`,
  );
  const last = messages.findLast(({ event }) => event.type === "user.message")?.event.payload.content;
  expect(last?.map(({ text }) => text)).toEqual([
    'Read these\n\n<file name="dropped.txt">\nfirst text\n</file>\n\n<file name="pasted.csv">\nsecond text\n</file>\n\n<file name="chosen.py">\nprint(1)\n</file>',
  ]);
});

/** Drops a file on the page. */
async function drop(page: Page, name: string, type: string, content = "x"): Promise<void> {
  const files = await page.evaluateHandle(
    ([name, type, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], name, { type }));
      return transfer;
    },
    [name, type, content] as const,
  );
  await page.dispatchEvent(".timeline", "dragover", { dataTransfer: files });
  await page.dispatchEvent(".timeline", "drop", { dataTransfer: files });
}
