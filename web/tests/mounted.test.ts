// The page as a part of another application, below a path.
import { Person, say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(async () => {
  const server = await Server.mounted();
  server.python("seed", "diagrams");
  return server;
});

test("all addresses of the page work below a path", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, {}, here.server.link);
  const { page } = person;
  const otherOrigin: string[] = [];
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith("blob:") && !url.startsWith(`${here.server.url}/`)) otherOrigin.push(url);
  });
  expect(page.url()).toBe(`${here.server.url}/`);
  await page.getByLabel("What do you want to say?").fill("use a tool, ask me a question");
  await page.locator("button:enabled", { hasText: "Start" }).waitFor(); // the user is signed in
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/team\/chat\/c\//);
  await state(page, "Waiting for you");
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.waitForURL(/\/team\/chat\/inbox$/);
  await page.getByLabel("Red").check();
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Nothing is waiting for you").waitFor();
  await page.goBack();
  await page.reload();
  await state(page, "Ready");
  await page.getByText("Red it is").waitFor();
  await say(page, "hello");
  await page.locator(".row.said", { hasText: "hello" }).waitFor();
  await page.locator("main").getByRole("button", { name: "More" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export as Markdown" }).click(),
  ]);
  expect(await download.failure()).toBe(null);
  await page.goto(`${here.server.url}/c/diagram-flow`);
  const diagram = page.getByRole("img", { name: /^Diagram: flowchart/ });
  await expect
    .poll(() => diagram.evaluate((each: HTMLImageElement) => each.naturalWidth))
    .toBeGreaterThan(100);
  expect(otherOrigin).toEqual([]);
  await person.leave();
});

test("a share link works below a path", async ({ expect }) => {
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { title: "Soup" });
  const made = await here.server.ask<{ link: string }>("POST", `/api/conversations/${id}/shares`, {});
  expect(made.link.startsWith(`${here.server.url}/shared#tw_`)).toBe(true);
  const reader = await here.browser.newContext({ locale: "en-GB" });
  const page = await reader.newPage();
  await page.goto(made.link);
  await page.getByRole("heading", { name: "Soup" }).waitFor();
  await page.getByText(/Shared, read-only, until/).waitFor();
  await reader.close();
});

test("the page shows a user who is not signed in a command that prints a link to this page", async ({
  expect,
}) => {
  const stranger = await here.browser.newContext();
  const page = await stranger.newPage();
  await page.goto(`${here.server.url}/`);
  const told = page.locator("main pre");
  await told.waitFor();
  expect(await told.innerText()).toBe(`turnwire token link --url ${here.server.url}`);
  await stranger.close();
});
