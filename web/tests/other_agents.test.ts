// Conversations with the real Codex, whose model follows a script, and with an agent of ACP.
import type { Page } from "playwright-core";
import { choose, chosenOf, Person, say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(() => Server.withCodex());

/** Takes a picture if a folder is named. */
async function look(page: Page, name: string): Promise<void> {
  const folder = process.env.PICTURES;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
}

/** Chooses an agent for a new conversation, and sends its first message. */
async function begin(page: Page, agent: string, words: string): Promise<void> {
  await page.getByRole("radio", { name: agent }).check();
  await page.getByLabel("What do you want to say?").fill(words);
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/c\//);
}

test("Codex plans, runs a command, changes a file and asks, each in its own card", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server);
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  const about = page.locator(".agent-card.chosen .about-agent");
  await about.getByText("Codex, the coding agent of OpenAI.").waitFor();
  expect(await about.innerText()).toContain("It runs commands on the server's machine, sees pictures");
  await look(page, "codex-new");
  await begin(page, "codex", "Greet me");

  const bar = page.getByRole("region", { name: "Permission" });
  await bar.locator(".command-line", { hasText: "echo outside" }).waitFor();
  await look(page, "codex-permission");
  // Codex runs the command as it is, or not at all.
  expect(await bar.locator(".choices button").allTextContents()).toEqual(["Allow y", "Deny n"]);
  // It takes one rule: for this session, or an amendment of its own policy.
  const rules = bar.locator("ul.rules li");
  expect(await rules.locator(":scope > span").allTextContents()).toEqual([
    expect.stringMatching(/echo outside.* in this conversation$/),
    expect.stringMatching(/echo outside \*” · in all conversations on this machine$/),
  ]);
  expect(await rules.getByRole("button").allTextContents()).toEqual(["Always a", "Always "]);
  const plan = page.locator(".card.todo", { hasText: "Look around" });
  await plan.waitFor();
  await page.locator(".strip.plan", { hasText: "Greet" }).waitFor();
  const run = page.locator(".card.command", { hasText: "echo one" });
  await run.locator(".state", { hasText: "3" }).waitFor();
  const change = page.locator(".card.change", { hasText: "hello.txt" });
  await change.locator(".diff .added", { hasText: "world" }).waitFor();
  await bar.getByRole("button", { name: /^Allow/ }).click();

  const form = page.getByRole("region", { name: "Question" });
  await form.getByLabel("Blue").check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Blue it is.").waitFor();
  await state(page, "Ready");
  await look(page, "codex-talk");
  await person.leave();
});

test("tools of an ACP agent look like what they are, and its options have its own words", async ({
  expect,
}) => {
  const person = await Person.enter(here.browser, here.server);
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await begin(page, "scripted", "shell, patch, plan");
  await state(page, "Ready");
  const run = page.locator(".card.command", { hasText: "Say out" });
  await run.locator(".command-line", { hasText: "echo out" }).waitFor();
  const change = page.locator(".card.change", { hasText: "Editing files" });
  await change.locator(".diff .added", { hasText: "hot" }).waitFor();
  await change.locator(".diff .removed", { hasText: "cold" }).waitFor();
  await page.locator(".card.todo", { hasText: "Look" }).waitFor();
  await look(page, "acp-talk");

  await say(page, "permission");
  const bar = page.getByRole("region", { name: "Permission" });
  await bar.locator(".rules", { hasText: "Always delete" }).waitFor();
  await look(page, "acp-permission");
  expect(await bar.locator(".rules").innerText()).not.toContain("{");
  expect(await bar.locator(".choices button").allTextContents()).toEqual(["Allow y", "Always a", "Deny n"]);
  await bar.getByRole("button", { name: /^Always/ }).click();
  await state(page, "Ready");
  await person.leave();
});

test("what the session of an ACP agent offers is chosen in the header, also after a restart", async ({
  expect,
}) => {
  const person = await Person.enter(here.browser, here.server);
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await begin(page, "scripted", "Hello");
  await state(page, "Ready");
  await choose(page, "Model", "large");
  await choose(page, "Permissions", "code");
  await expect.poll(chosenOf(page, "Effort")).toBe("low");
  await choose(page, "Effort", "high"); // which only the large model has
  await choose(page, "Web search", "true");
  await expect.poll(chosenOf(page, "Web search")).toBe("true");
  const second = await person.tab(new URL(page.url()).pathname);
  for (const label of ["Model: large", "Effort: High", "Web search: on"])
    await second.getByRole("button", { name: label }).waitFor();
  expect(await second.getByText("session offered").count()).toBe(0);
  await say(page, "settings");
  await page.getByText('{"m": "large", "effort": "high", "web": true, "mode": "code"}').waitFor();

  await here.server.kill();
  await here.server.restart();
  await page.reload();
  await expect.poll(chosenOf(page, "Model")).toBe("large");
  await expect.poll(chosenOf(page, "Effort")).toBe("high");
  await look(page, "acp-choices");
  await person.leave();
});
