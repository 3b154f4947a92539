// The server is killed with the page open.
import { text } from "node:stream/consumers";
import { type TestContext, test } from "vitest";
import { openBrowser, Person, saidOn, say, state } from "./browser";
import { Server } from "./server";

/** Starts a server for one test, which kills it. */
async function opened(onTestFinished: TestContext["onTestFinished"]) {
  const [browser, server] = await Promise.all([openBrowser(), Server.start()]);
  onTestFinished(async () => {
    await browser.close();
    await server.stop();
  });
  return { browser, server };
}

test("the first five minutes: start, question, permission, second tab, kill and restart, export", async ({
  expect,
  onTestFinished,
}) => {
  const { browser, server } = await opened(onTestFinished);
  const person = await Person.enter(browser, server, {}, server.link);
  const { page } = person;
  const id = await person.begin("think, use a tool, ask me a question, delete something");
  await page.locator("details.tool.command").getByText("notes.txt").waitFor();

  const second = await person.tab(`/c/${id}`);
  await state(second, "Waiting for you");
  await page.getByLabel("Blue").check();

  // The question is stored, so it survives the server.
  await server.kill();
  await page.locator(".line-banner.shown", { hasText: "cannot be reached" }).waitFor();
  await second.locator(".line-banner.shown").waitFor();
  await server.restart();
  await page.locator(".line-banner:not(.shown)").waitFor({ state: "attached" });
  await state(page, "Waiting for you");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Blue it is").waitFor();

  const bar = second.getByRole("region", { name: "Permission" });
  await bar.getByRole("button", { name: "Allow", exact: false }).first().click();
  await Promise.all([state(page, "Ready"), state(second, "Ready")]);
  for (const tab of [page, second])
    await expect.poll(saidOn(tab)).toEqual(["think, use a tool, ask me a question, delete something"]);

  await page.getByRole("main").getByRole("button", { name: "More" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export as JSONL" }).click(),
  ]);
  const lines = (await text(await download.createReadStream())).trim().split("\n");
  expect(JSON.parse(lines[0] ?? "").kind).toBe("conversation");
  expect(JSON.parse(lines.at(-1) ?? "").kind).toBe("end");
  await person.leave();
});

test("after a kill during an answer the page shows what happened, and sends offline messages once", async ({
  expect,
  onTestFinished,
}) => {
  const { browser, server } = await opened(onTestFinished);
  const person = await Person.enter(browser, server);
  const { page } = person;
  const id = await person.quick("a long answer", 0.02);
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  const inbox = await person.tab("/inbox");
  const nothing = inbox.getByRole("heading", { name: "Nothing is waiting for you" });
  await nothing.waitFor();
  const search = await person.tab("/search");
  await search.getByLabel("Search all messages").fill("answer");
  await server.kill();
  await inbox.getByRole("alert").getByText("New requests are not shown").waitFor();
  expect(await nothing.count()).toBe(0);
  await inbox.close();
  await search.getByRole("button", { name: "Search (Enter)" }).click();
  await search.getByRole("alert").waitFor();
  expect(await search.getByText("Nothing found").count()).toBe(0);
  await page.locator(".line-banner.shown").waitFor();
  await say(page, "hello again");
  await page.locator(".row.pending", { hasText: "hello again" }).waitFor();
  await server.restart();
  await search.getByRole("button", { name: "Try again" }).click();
  await search.locator(".hits mark").first().waitFor();
  await search.close();
  await page.locator(".failure", { hasText: "Stopped: the server was restarted" }).waitFor();
  expect(await page.locator(".receipt").count()).toBe(0);
  await state(page, "Ready");
  await expect
    .poll(() => page.locator(".row.said:not(.pending)", { hasText: "hello again" }).count())
    .toBe(1);
  expect(await page.locator(".row.pending").count()).toBe(0);

  // The page is closed before the server is back. The next page sends the message.
  await server.kill();
  await say(page, "and once more");
  await page.locator(".row.pending", { hasText: "and once more" }).waitFor();
  await page.goto("about:blank");
  await server.restart();
  await page.goto(`${server.url}/c/${id}`);
  const said = page.locator(".row.said:not(.pending)", { hasText: "and once more" });
  await said.waitFor();
  await state(page, "Ready");
  await expect.poll(() => said.count()).toBe(1);
  const waits = () => page.evaluate(() => Object.keys(localStorage).filter((name) => /:sent:/.test(name)));
  await expect.poll(waits).toEqual([]);
  await person.leave();
});

test("every page without a conversation says that the server cannot be reached, until it is back", async ({
  onTestFinished,
}) => {
  const { browser, server } = await opened(onTestFinished);
  const person = await Person.enter(browser, server);
  const tabs = [person.page, await person.tab("/inbox"), await person.tab("/settings")];
  for (const tab of tabs) await tab.locator(".line-banner:not(.shown)").waitFor({ state: "attached" });
  await server.kill();
  const banner = { hasText: "The server cannot be reached. Retrying." };
  for (const tab of tabs) await tab.locator(".line-banner.shown", banner).waitFor();
  await server.restart();
  for (const tab of tabs) await tab.locator(".line-banner:not(.shown)").waitFor({ state: "attached" });
  await person.leave();
});
