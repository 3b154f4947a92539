// Commands, restored files and the agent panel, with the real Claude Code and a scripted model.
import { existsSync, readFileSync } from "node:fs";
import { violations } from "./axe";
import { choose, chosenOf, Person, saidOn, say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(() => Server.withClaude("agent_panel"));

interface Told {
  status: { max_thinking_tokens?: number };
}

test("the page offers commands, restores files, and shows the state of the agent", async ({ expect }) => {
  const { browser, server } = here;
  const person = await Person.enter(browser, server, { colorScheme: "light" });
  const { page } = person;
  const begin = { permission_mode: "acceptEdits", options: { max_budget_usd: 5 } };
  const { id } = await server.ask<{ id: string }>("POST", "/api/conversations", begin);
  const path = `/api/conversations/${id}`;
  await page.goto(`${server.url}/c/${id}`);
  const field = page.getByLabel("Message", { exact: true });

  // A slash in an empty message starts the agent and loads its commands.
  await field.pressSequentially("/");
  const list = page.getByRole("listbox", { name: "Commands" });
  await list.waitFor();
  const all = await list.getByRole("option").count();
  expect(await violations(page)).toEqual([]);
  await field.pressSequentially("com");
  const compact = list.getByRole("option", { name: "/compact" });
  await compact.waitFor();
  const fit = await list.getByRole("option").count();
  expect(fit).toBeLessThan(all);
  const chosen = () => list.locator("[aria-selected=true]").getAttribute("id");
  const first = await chosen();
  expect(await field.getAttribute("aria-activedescendant")).toBe(first);
  await field.press("ArrowUp"); // from the first item to the last one
  expect(await chosen()).toBe(`command-${fit - 1}`);
  await field.press("ArrowDown");
  expect(await field.getAttribute("aria-activedescendant")).toBe(first);
  await field.press("Escape");
  await list.waitFor({ state: "detached" });
  expect(await field.evaluate((each) => each === document.activeElement)).toBe(true);
  expect(await field.inputValue()).toBe("/com");
  await field.pressSequentially("pa");
  await compact.waitFor();
  await field.press("Tab");
  expect(await field.inputValue()).toBe("/compact ");
  await list.waitFor({ state: "detached" });
  await field.fill("/compac");
  await compact.click();
  expect(await field.inputValue()).toBe("/compact ");
  await field.fill("a/");
  expect(await list.count()).toBe(0);
  await field.fill("");

  // The start page lists the commands that the agent has in its newest conversation.
  await page.goto(`${server.url}/new`);
  const start = page.getByLabel("What do you want to say?");
  await start.pressSequentially("/compa");
  await compact.waitFor();
  expect(await violations(page)).toEqual([]);
  await start.press("Enter");
  expect(await start.inputValue()).toBe("/compact ");
  await list.waitFor({ state: "detached" });
  await start.fill("");
  await page.goto(`${server.url}/c/${id}`);

  // Files are restored to their content before a message.
  const notes = `${server.workDir}/notes.txt`;
  await say(page, "Write it");
  await page.getByText("It is written.").waitFor();
  await state(page, "Ready");
  await say(page, "Change it");
  await page.getByText("It is changed.").waitFor();
  await state(page, "Ready");
  expect(readFileSync(notes, "utf8")).toBe("two");
  const open = async (words: string) => {
    const row = page.locator(".row.said", { hasText: words });
    await row.hover();
    await row.getByRole("button", { name: "Restore the files" }).click();
  };
  const dialog = page.getByRole("dialog", { name: "Restore files" });
  const button = dialog.getByRole("button", { name: "Restore 1 file" });
  await open("Change it");
  await dialog.getByRole("list", { name: "Files" }).getByText("notes.txt").waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(readFileSync(notes, "utf8")).toBe("two");
  await open("Change it");
  await button.click();
  const told = page.locator(".row.happened", { hasText: "1 file was restored by you" });
  await told.locator(".files", { hasText: "notes.txt" }).waitFor();
  await dialog.waitFor({ state: "detached" });
  expect(readFileSync(notes, "utf8")).toBe("one");
  await open("Change it");
  await dialog.getByText("There is nothing to restore").waitFor();
  expect(await button.count()).toBe(0);
  await dialog.getByRole("button", { name: "Close" }).first().click();
  await open("Write it");
  await button.click();
  await expect.poll(() => existsSync(notes)).toBe(false);
  await dialog.waitFor({ state: "detached" });
  await expect.poll(saidOn(page)).toEqual(["Write it", "Change it"]); // the messages stay

  // The agent panel.
  await page.keyboard.press("Escape");
  await page.keyboard.press("m");
  const panel = page.getByRole("dialog", { name: "About the agent" });
  await panel.getByRole("region", { name: "Budget" }).getByText("of $5.00 spent").waitFor();
  const context = panel.getByRole("region", { name: "Context" });
  await context.getByText(/of .+ tokens/).waitFor();
  await context.getByRole("listitem").filter({ hasText: "System prompt" }).waitFor();
  const servers = panel.getByRole("region", { name: "MCP servers" });
  const colours = servers.locator(".servers > li", { hasText: "colours" });
  await colours.getByText("Connected · stdio").waitFor();
  await colours.getByText("1 tool").click();
  await colours.getByText("pick", { exact: true }).waitFor();
  const broken = servers.locator(".servers > li", { hasText: "broken" });
  await broken.getByText("Failed").waitFor();
  expect(await broken.locator("p.bad").innerText()).not.toBe("");
  expect(await violations(page)).toEqual([]);
  await broken.getByRole("button", { name: "Reconnect broken" }).click();
  await broken.getByRole("alert").getByText("Claude Code refuses").waitFor();
  expect(await broken.locator("p.bad").count()).toBe(1); // the error is shown once
  const toggle = colours.getByRole("switch", { name: "Use colours" });
  await toggle.click();
  await colours.getByText("Off").waitFor();
  expect(await toggle.getAttribute("aria-checked")).toBe("false");
  expect(await colours.getByRole("button", { name: "Reconnect" }).count()).toBe(0);
  await toggle.press("Space");
  await colours.getByText("Connected").waitFor();
  expect(await toggle.getAttribute("aria-checked")).toBe("true");

  const most = async () => (await server.ask<Told>("GET", path)).status.max_thinking_tokens;
  await choose(page, "Thinking", "4000");
  await expect.poll(most).toBe(4000);
  await choose(page, "Thinking", "other");
  await panel.getByLabel("Tokens").fill("2345");
  await panel.getByRole("button", { name: "Save" }).click();
  await expect.poll(most).toBe(2345);
  await expect.poll(chosenOf(page, "Thinking")).toBe("2345");
  await choose(page, "Thinking", "");
  await expect.poll(most).toBeUndefined();
  // The page does not offer actions that the server would refuse.
  const own = servers.locator(".servers > li", { hasText: "turnwire" });
  await own.getByText("Connected · sdk").waitFor();
  expect(await own.getByRole("button").count()).toBe(0);
  expect(await own.getByRole("switch").count()).toBe(0);
  await page.setViewportSize({ width: 360, height: 740 });
  const widths = await panel.evaluate((each) => [each.scrollWidth - each.clientWidth, each.clientWidth]);
  expect(widths[0]).toBe(0);
  expect(widths[1]).toBeLessThanOrEqual(360);
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  await person.leave();
});
