// The real Claude Code on the page; only its model follows a script.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openBrowser, Person, state } from "./browser";
import { Server } from "./server";

let browser: Browser;
let server: Server;

beforeAll(async () => {
  [browser, server] = await Promise.all([openBrowser(), Server.withClaude()]);
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

test("Claude writes a file, runs a command, asks and answers, and each is what it is on the page", async () => {
  const person = await Person.enter(browser, server, {}, server.link);
  const { page } = person;
  page.setDefaultTimeout(60_000);
  await person.begin("Write a greeting");
  const bar = page.getByRole("region", { name: "Permission" });
  await bar.locator(".diff .added", { hasText: "def greet" }).waitFor();
  await bar.getByRole("button", { name: /^Allow/ }).click();
  await bar.locator(".command-line", { hasText: "touch made" }).waitFor();
  await bar.getByRole("button", { name: /^Allow/ }).click();
  const form = page.getByRole("region", { name: "Question" });
  await form.getByLabel("Blue").check();
  await form.getByLabel("Red").check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page.locator(".answered", { hasText: "Blue" }).waitFor();
  await page.locator("figure.code .hljs-keyword", { hasText: "def" }).waitFor();
  await page.locator(".markdown td", { hasText: "greet.py" }).waitFor();
  await state(page, "Ready");
  await page.locator("details.tool.change .diff").waitFor();
  await page.locator("details.tool.command .output", { hasText: "made it" }).waitFor();

  const card = page.locator(".row", { has: page.locator("details.tool.command") });
  await card.hover();
  await card.getByRole("button", { name: "Inspect" }).click();
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await layers
    .getByRole("region", { name: "The agent's own event" })
    .getByText('"assistant"')
    .first()
    .waitFor();
  await layers.getByRole("region", { name: "Normalized" }).getByText("tool_use").first().waitFor();
  await layers.getByRole("region", { name: "Frame" }).getByText("assistant.tool_call").waitFor();
  expect(person.problems).toEqual([]);
  await person.leave();
});
