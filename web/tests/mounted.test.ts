// The page in somebody else's application, below a path.
import { Person, say, state } from "./browser";
import { Server } from "./server";
import { stage } from "./stage";

const { here, test } = stage(() => Server.mounted());

test("below a path everything is where it says it is", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, {}, here.server.link);
  const { page } = person;
  const elsewhere: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(`${here.server.url}/`)) elsewhere.push(request.url());
  });
  expect(page.url()).toBe(`${here.server.url}/`);
  await page.getByLabel("What do you want to say?").fill("use a tool, ask me a question");
  await page.locator("button:enabled", { hasText: "Begin" }).waitFor(); // it knows who is there
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/team\/chat\/c\//);
  await state(page, "Waits for you");
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.waitForURL(/\/team\/chat\/inbox$/);
  await page.getByLabel("Red").check();
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Nothing waits for you").waitFor();
  await page.goBack();
  await page.reload();
  await state(page, "Ready");
  await page.getByText("Red it is").waitFor();
  await say(page, "hello");
  await page.locator(".row.said", { hasText: "hello" }).waitFor();
  await page.locator("main").getByRole("button", { name: "More" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export as a document" }).click(),
  ]);
  expect(await download.failure()).toBe(null);
  expect(elsewhere).toEqual([]);
  await person.leave();
});

test("a person whom the server does not know is told a command that prints a link to this very page", async ({
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
