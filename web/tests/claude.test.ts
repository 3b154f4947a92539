// The first five minutes with the real Claude Code; only its model follows a script.
import type { Page } from "playwright-core";
import { choose, chosenOf, Person, pressIn, say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(() => Server.withClaude("talk"));

/** Pastes an image of a green dot. */
async function paste(page: Page, label = "Message"): Promise<void> {
  await page.getByLabel(label, { exact: true }).evaluate(async (field) => {
    const canvas = new OffscreenCanvas(8, 8);
    const pen = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
    pen.fillStyle = "green";
    pen.fillRect(0, 0, 8, 8);
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([await canvas.convertToBlob()], "dot.png", { type: "image/png" }));
    field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
  });
}

test("Claude writes, runs a command, asks, survives a kill, and receives an image", async ({ expect }) => {
  const { browser, server } = here;
  const person = await Person.enter(browser, server, {}, server.link);
  const { page } = person;
  await paste(page, "What do you want to say?");
  await page.locator(".attached img").waitFor();
  await page.getByLabel("What do you want to say?").fill("Write a greeting");
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/c\//);
  const id = decodeURIComponent(new URL(page.url()).pathname.slice(3));
  const bar = page.getByRole("region", { name: "Permission" });
  await bar.locator(".diff .added", { hasText: "def greet" }).waitFor();
  // Escape closes the list of commands. Without an open list it stops the agent.
  const field = page.getByLabel("Message", { exact: true });
  const commands = page.getByRole("listbox", { name: "Commands" });
  await field.pressSequentially("/");
  await commands.waitFor();
  await field.press("Escape");
  await commands.waitFor({ state: "detached" });
  await field.fill("");
  const second = await person.tab(`/c/${id}`);
  await bar.getByRole("button", { name: /^Allow/ }).click();
  const other = second.getByRole("region", { name: "Permission" });
  await other.locator(".command-line", { hasText: "touch made" }).waitFor();
  await other.locator(".fields > div", { hasText: /^timeout\s*60000$/ }).waitFor();
  await other.getByRole("button", { name: /^Allow/ }).click();
  const form = page.getByRole("region", { name: "Question" });
  await form.getByLabel("Blue").check();
  await form.getByLabel("Red").check();

  await server.kill();
  await page.locator(".line-banner.shown").waitFor();
  await server.restart();
  await page.locator(".line-banner:not(.shown)").waitFor({ state: "attached" });
  await state(page, "Waiting for you");
  await form.getByRole("button", { name: "Answer" }).click();
  await second.setViewportSize({ width: 1280, height: 500 }); // so that there is something to scroll
  for (const tab of [page, second]) {
    for (const colour of ["Red", "Blue"]) await tab.locator(".chosen", { hasText: colour }).waitFor();
    await tab.locator("figure.code .hljs-keyword", { hasText: "def" }).waitFor();
    await tab.locator(".markdown td", { hasText: "greet.py" }).waitFor();
    await state(tab, "Ready");
    await tab.locator(".scroller").evaluate((element) => element.scrollTo(0, 0));
    await tab.locator("details.tool.change .diff").waitFor();
    const first = tab.locator(".row.said", { hasText: "Write a greeting" }).locator(".pictures img");
    await expect.poll(() => first.evaluate((each) => (each as HTMLImageElement).naturalWidth)).toBe(8);
    const command = tab.locator("details.tool.command");
    await command.locator(".output", { hasText: "made it" }).waitFor();
    await command.locator(".state.bad", { hasText: "exit 3" }).waitFor();
  }

  const card = page.locator(".row", { has: page.locator("details.tool.command") });
  await pressIn(card, "Inspect");
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await layers
    .getByRole("region", { name: "The agent's own event" })
    .getByText('"assistant"')
    .first()
    .waitFor();
  await layers.getByRole("region", { name: "Normalized event" }).getByText("tool_use").first().waitFor();
  await layers.getByRole("region", { name: "Frame" }).getByText("assistant.tool_call").waitFor();
  await page.keyboard.press("Escape");

  await choose(page, "Model", "haiku");
  await choose(page, "Permissions", "plan");
  await expect.poll(chosenOf(second, "Model")).toBe("haiku");
  await expect.poll(chosenOf(second, "Permissions")).toBe("plan");
  await paste(page);
  await page.locator(".attached li:not([aria-busy=true]) img").waitFor();
  await say(page, "What is this?");
  // The tab that sends scrolls to the end. The other tab keeps its position.
  await page.getByText("I see a picture.").waitFor();
  await second.getByRole("button", { name: "Go to the newest message" }).click();
  await second.getByText("I see a picture.").waitFor();
  await state(second, "Ready");
  const picture = second.locator(".row.said", { hasText: "What is this?" }).locator(".pictures img");
  await expect.poll(() => picture.evaluate((each) => (each as HTMLImageElement).naturalWidth)).toBe(8);
  expect(await page.locator(".attached li").count()).toBe(0);
  await person.leave();
});
