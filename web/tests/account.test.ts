// The account on the settings page: who is signed in, and signing out.
import type { BrowserContextOptions } from "playwright-core";
import { violations } from "./axe";
import { Person, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage();

/** A person with a session of their own: signing out ends it. */
const withLink = (options: BrowserContextOptions = {}) =>
  Person.enter(here.browser, here.server, options, here.server.newLink());

test("the settings page says who is signed in, how, since when and until when", async ({ expect }) => {
  const person = await withLink();
  const { page } = person;
  await page.goto(`${here.server.url}/settings`);
  const account = page.locator(".account");
  await account.getByText("The owner").waitFor();
  await account.getByText("all conversations on this server").waitFor();
  await account.getByText("in this browser, with a link").waitFor();
  expect(await account.locator("dt").allInnerTexts()).toEqual([
    "Name",
    "May use",
    "Signed in",
    "Since",
    "Until",
  ]);
  expect(await violations(page)).toEqual([]);
  await person.leave();
});

test("signing out ends the session in every tab, and deletes drafts from the browser", async ({ expect }) => {
  const person = await withLink();
  const { page } = person;
  const id = await person.begin("hello");
  await state(page, "Ready");
  await page.getByLabel("Message", { exact: true }).fill("a secret draft");
  const other = await person.tab("/settings");
  const cookies = await person.context.cookies();
  const key = await page.evaluate(() => localStorage.getItem("turnwire:page:/") ?? "");
  await other.getByRole("radio", { name: "Dark" }).check();
  await other.getByRole("button", { name: "Sign out" }).click();
  for (const tab of [other, page]) {
    await tab.getByRole("heading", { name: "You are not signed in" }).waitFor();
    await tab.getByText("turnwire token link").waitFor();
  }
  const stored = await other.evaluate(() => ({ ...localStorage }));
  expect(JSON.stringify(stored)).not.toContain("secret");
  expect(stored).toMatchObject({ "turnwire:theme": "dark" });
  expect(stored).not.toHaveProperty("turnwire:page:/");
  expect(await person.context.cookies()).toEqual([]);
  // A copy of both halves opens nothing.
  const copied = {
    Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join("; "),
    "X-Turnwire-Page": key,
  };
  const answer = await fetch(`${here.server.url}/api/conversations/${id}`, { headers: copied });
  expect(answer.status).toBe(401);
  await person.leave();
});

test("users of an application sign out there", async ({ expect }) => {
  const server = await Server.mounted(true);
  const user = await here.browser.newContext({ extraHTTPHeaders: { "X-User": "ann" }, locale: "en-GB" });
  const page = await user.newPage();
  await page.goto(`${server.url}/settings`);
  const account = page.locator(".account");
  await account.getByText("ann", { exact: true }).waitFor();
  await account.getByText("your own conversations").waitFor();
  expect(await account.locator("dt").allInnerTexts()).toEqual(["Name", "May use", "Signed in"]);
  await account.getByRole("link", { name: "Sign out" }).click();
  await page.getByText("Signed out there").waitFor();
  await user.close();
  await server.stop();
});
