// Files of a message: on the start page, in a conversation and while a request waits.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll } from "vitest";
import { violations } from "./axe";
import { pressIn, say, state } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const { here, test } = stage(() =>
  Server.start({ TURNWIRE_AGENTS: "web.tests.python.agents:reader,demo", PYTHONPATH: ROOT }),
);
const folder = mkdtempSync(join(tmpdir(), "turnwire-saved-"));
afterAll(() => rmSync(folder, { recursive: true }));
const PDF = { name: "report.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1") };

test("the first message has a text, a picture and a PDF, and the PDF is saved from it", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await page.getByRole("radio", { name: "reader" }).check();
  await page.getByLabel("Add files").setInputFiles([PDF, { ...PDF, name: "other.pdf" }]);
  await drop(page, ".start-box", "notes.md", "text/markdown", "some notes");
  await paste(page, "What do you want to say?", "dot.png", "image/png");
  const added = page.locator(".attached li");
  await expect.poll(() => added.count()).toBe(4);
  await page.getByRole("button", { name: "Remove other.pdf" }).click();
  await expect.poll(() => added.count()).toBe(3);
  expect(await violations(page)).toEqual([]);
  await page.getByLabel("What do you want to say?").fill("Read these");
  await page.keyboard.press("Enter");
  await page.getByText("I have read report.pdf: 6 bytes. That is all.").waitFor();
  const said = page.locator(".row.said");
  await said.getByText("notes.md").waitFor();
  await said.getByText("6 B").waitFor();
  await said.locator("img, .pictures").first().waitFor();
  expect(await violations(page)).toEqual([]);
  const [saved] = await Promise.all([
    page.waitForEvent("download"),
    page.getByTitle("Download report.pdf").click(),
  ]);
  expect(saved.suggestedFilename()).toBe("report.pdf");
  const copy = join(folder, "saved.pdf");
  await saved.saveAs(copy);
  expect(readFileSync(copy, "utf-8")).toBe("%PDF-1");
});

test("a failed turn is tried again with its picture and its file", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await page.getByRole("radio", { name: "reader" }).check();
  await page.getByLabel("Add files").setInputFiles([PDF]);
  await paste(page, "What do you want to say?", "dot.png", "image/png");
  await expect.poll(() => page.locator(".attached li").count()).toBe(2);
  await page.getByLabel("What do you want to say?").fill("fail");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect.poll(() => page.locator(".row.turn .failure").count()).toBe(2);
  const said = page.locator(".row.said:not(.pending)");
  await expect.poll(() => said.count()).toBe(2);
  for (const each of [said.first(), said.last()]) {
    await each.getByText("fail", { exact: true }).waitFor();
    await each.getByTitle("Download report.pdf").waitFor();
    await each.locator(".pictures img").waitFor();
  }
});

test("a message is edited in a fork with its picture and its file", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await page.getByRole("radio", { name: "reader" }).check();
  await page.getByLabel("Add files").setInputFiles([PDF]);
  await paste(page, "What do you want to say?", "dot.png", "image/png");
  await expect.poll(() => page.locator(".attached li").count()).toBe(2);
  await page.getByLabel("What do you want to say?").fill("Read it");
  await page.keyboard.press("Enter");
  await page.getByText("I have read report.pdf: 6 bytes. That is all.").waitFor();
  await state(page, "Ready");
  const id = new URL(page.url()).pathname;
  await pressIn(page.locator(".row.said"), "Edit, and send it");
  await page.waitForURL((url) => /\/c\//.test(url.pathname) && url.pathname !== id);
  await expect.poll(() => page.locator(".attached li:not([aria-busy=true])").count()).toBe(2);
  const field = page.getByLabel("Message", { exact: true });
  await expect.poll(() => field.inputValue()).toBe("Read it");
  await field.fill("Read it again");
  await page.keyboard.press("Enter");
  await page.getByText("I have read report.pdf: 6 bytes. That is all.").waitFor();
  const said = page.locator(".row.said:not(.pending)");
  await said.getByText("Read it again").waitFor();
  await said.getByTitle("Download report.pdf").waitFor();
  await said.locator(".pictures img").waitFor();
});

test("an agent that does not take a file says so before anything is sent", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await page.getByRole("radio", { name: "reader" }).check();
  await drop(page, ".start-box", "sound.ogg", "audio/ogg", "\0");
  await page.getByText("sound.ogg cannot be added: this agent does not take such files.").waitFor();
  // An agent that is chosen later decides again.
  await page.getByLabel("Add files").setInputFiles([PDF]);
  await page.locator(".attached li").waitFor();
  await page.getByRole("radio", { name: "demo" }).check();
  await page.getByRole("button", { name: "Start" }).click();
  await page.getByText("report.pdf cannot be added: this agent does not take such files.").waitFor();
  expect(new URL(page.url()).pathname).toBe("/new");
  await page.getByRole("button", { name: "Remove report.pdf" }).click();
});

test("files are dropped and pasted while a request waits, and are sent in the queue", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await page.getByRole("radio", { name: "reader" }).check();
  await page.getByLabel("What do you want to say?").fill("ask me");
  await page.getByRole("button", { name: "Start" }).click();
  const form = page.getByRole("region", { name: "Question" });
  await form.getByText("Shall I read?").waitFor();
  await drop(page, ".timeline", "dropped.pdf", "application/pdf", "\0one");
  await paste(page, "Message", "pasted.pdf", "application/pdf", "\0two");
  await expect.poll(() => page.locator(".attached li:not(.loading)").count()).toBe(2);
  await say(page, "Both of these");
  await form.getByLabel("Yes").check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page
    .getByText("I have read dropped.pdf: 4 bytes. I have read pasted.pdf: 4 bytes. That is all.")
    .waitFor();
  await state(page, "Ready");
});

async function drop(page: Page, on: string, name: string, type: string, content: string): Promise<void> {
  const files = await page.evaluateHandle(
    ([name, type, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content], name, { type }));
      return transfer;
    },
    [name, type, content] as const,
  );
  await page.dispatchEvent(on, "dragover", { dataTransfer: files });
  await page.dispatchEvent(on, "drop", { dataTransfer: files });
}

async function paste(page: Page, field: string, name: string, type: string, content = "x"): Promise<void> {
  await page.getByLabel(field, { exact: true }).evaluate(
    (field, [name, type, content]) => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([content], name, { type }));
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    },
    [name, type, content] as const,
  );
}
