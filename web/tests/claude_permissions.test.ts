// Permission requests of the real Claude Code, with a scripted model: each part is shown once.
import { existsSync } from "node:fs";
import { pressIn, say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(() => Server.withClaude("permissions"));

test("permissions, messages and restored files show each detail once", async ({ person, expect }) => {
  const { page } = person;
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", {});
  await page.goto(`${here.server.url}/c/${id}`);
  await say(page, "Do it");
  const bar = page.getByRole("region", { name: "Permission" });
  const allow = bar.locator("button.primary:enabled");
  const times = async (words: string) =>
    (await bar.locator("header, .asked-for > :not(.rules)").allInnerTexts()).join("\n").split(words).length -
    1;

  // A command with a description, and one that Claude itself describes.
  await bar.locator(".command-line", { hasText: "touch made" }).waitFor();
  await bar.getByRole("heading", { name: "May this command run?" }).waitFor();
  expect(await times("touch made")).toBe(1);
  expect(await times("Make a file")).toBe(1);
  expect(await bar.locator(".raw, .fields").count()).toBe(0);
  await allow.click();
  await bar.locator(".command-line", { hasText: "touch more" }).waitFor();
  expect(await times("touch more")).toBe(1);
  expect(await bar.locator(".raw, .fields").count()).toBe(0);
  await bar.getByRole("button", { name: "Edit", exact: true }).click();
  await bar.getByRole("textbox").fill("touch other");
  await bar.getByRole("button", { name: "Allow with changes" }).click();

  // A file is shown by its name.
  const name = `${here.server.workDir}/new.txt`;
  await bar.locator(".diff", { hasText: "one" }).waitFor();
  expect(await times(name)).toBe(1);
  const changed = page.locator("details.tool.command", { hasText: "touch other" });
  expect(await changed.locator(".command-line").allInnerTexts()).toEqual(["$ touch more", "$ touch other"]);
  expect(await changed.locator(".raw, .fields").count()).toBe(0);
  await allow.click();

  // The title of an MCP tool names its server.
  await bar.getByRole("heading", { name: "May the tool “colours: pick” run?" }).waitFor();
  expect(await bar.locator(".raw, .fields").count()).toBe(0);
  await bar.getByText("every use of colours: pick").waitFor();
  await allow.click();
  const form = page.getByRole("region", { name: "Question" });
  await form.getByLabel("red").check();
  await form.locator(".own").last().fill("3");
  await form.getByRole("button", { name: "Answer" }).click();
  await page.getByText("All is done.").waitFor();
  await state(page, "Ready");
  await say(page, "And again");
  await page.getByText("Once more.").waitFor();
  await state(page, "Ready");

  // The start of a session is one log entry without a row. The inspector shows it between its neighbours.
  expect(await page.locator(".row.happened").count()).toBe(0);
  await page.locator(".scroller").evaluate((each) => each.scrollTo(0, 0));
  await pressIn(page.locator(".row.said", { hasText: "Do it" }), "Inspect");
  const layers = page.getByRole("dialog", { name: "Inspect" });
  const frame = layers.getByRole("region", { name: "Frame" });
  await frame.getByText('"user.message"').waitFor();
  await layers.getByRole("button", { name: "Next entry" }).click();
  await frame.getByText('"init"').first().waitFor();
  await layers.getByRole("region", { name: "Shown" }).getByText("does not show this entry").waitFor();
  await layers.getByRole("button", { name: "Previous entry" }).click();
  await frame.getByText('"user.message"').waitFor();
  await page.keyboard.press("Escape");

  // Restoring deletes files that were created since. The dialog says so before.
  await page.locator(".scroller").evaluate((each) => each.scrollTo(0, 0));
  const said = page.locator(".row.said", { hasText: "Do it" });
  await said.hover();
  await said.getByRole("button", { name: "Restore the files" }).click();
  const dialog = page.getByRole("dialog", { name: "Restore files" });
  await dialog.getByText("was created after your message and would be deleted").waitFor();
  expect(await dialog.getByRole("list", { name: "Files to be deleted" }).allInnerTexts()).toEqual([name]);
  await dialog.getByRole("button", { name: "Restore 1 file" }).click();
  await expect.poll(() => existsSync(name)).toBe(false);
  await dialog.waitFor({ state: "detached" });
});
