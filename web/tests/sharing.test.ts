// Share links: made in the menu of a conversation, and opened without an account.
import type { Browser, Page } from "playwright-core";
import { expect } from "vitest";
import { violations } from "./axe";
import { chosenOf, menuOf, Person, pressIn, recordCopies } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(async () => {
  const server = await Server.start();
  server.python("seed", "long", "600");
  return server;
});

/** Makes a link in the dialog. Returns its address. */
async function share(page: Page): Promise<string> {
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Share" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Everybody with the link can read what was said until now").waitFor();
  const copied = await recordCopies(page);
  await dialog.getByRole("button", { name: "Make a link" }).click();
  const link = await dialog.getByLabel("Link (shown only once)").inputValue();
  await expect.poll(copied).toBe(link);
  return link;
}

/** Opens an address in a browser without cookies. */
async function stranger(browser: Browser, server: Server, address: string): Promise<Person> {
  const person = await Person.come(browser, server);
  await person.page.goto(address);
  return person;
}

/** Expects that a page offers only what needs no account. */
async function isReadOnly(page: Page): Promise<void> {
  await page.getByText(/Shared, read-only, until/).waitFor();
  for (const selector of ["nav.sidebar", "textarea", "[contenteditable]", ".composer"])
    expect(await page.locator(selector).count()).toBe(0);
  for (const name of ["More", "Edit", "Inspect", "Send", "Share", "Copy link"])
    expect(await page.getByRole("button", { name }).count()).toBe(0);
}

test("a link is made, copied, read in a browser without cookies, and ended", async ({ person }) => {
  const { page } = person;
  await person.quick("think, then use a tool");
  await page.locator(".row.turn").waitFor();
  const link = await share(page);
  expect(link).toMatch(new RegExp(`^${here.server.url}/shared#tw_`));

  const reader = await stranger(here.browser, here.server, "about:blank");
  const asked: string[] = [];
  reader.page.on(
    "request",
    (request) => void asked.push(`${request.url()} ${request.headers().cookie ?? ""}`),
  );
  await reader.page.goto(link);
  const said = reader.page.locator(".row.said", { hasText: "think, then use a tool" });
  await said.waitFor();
  await reader.page.locator(".card.tool").first().waitFor();
  await isReadOnly(reader.page);
  const copied = await recordCopies(reader.page);
  await pressIn(said, "Copy");
  await expect.poll(copied).toBe("think, then use a tool");
  const secret = link.split("#")[1] ?? "";
  expect(asked.length).toBeGreaterThan(0);
  for (const each of asked) {
    expect(each).not.toContain(secret);
    expect(each).not.toMatch(/api\/(?!shared)|turnwire_\d/);
  }

  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^End the link/ })
    .click();
  await page.getByText("This conversation has no valid link.").waitFor();
  await reader.page.reload();
  await reader.page.getByRole("heading", { name: "This link has ended" }).waitFor();
  await reader.leave();
});

test("the days of a link are chosen in a menu, and Escape closes the menu before the dialog", async ({
  person,
}) => {
  const { page } = person;
  await page.setViewportSize({ width: 375, height: 667 }); // later, it would close the menu
  const id = await person.quick("hello");
  await page.locator(".row.turn").waitFor();
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Share" }).click();
  const days = menuOf(page, "Valid for");
  await expect.poll(chosenOf(page, "Valid for")).toBe("30");
  await days.press("Enter");
  await page.getByRole("menu").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  expect(await days.evaluate((each) => each === document.activeElement)).toBe(true);
  await days.press("Enter");
  await page.getByRole("menu").waitFor();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expect.poll(chosenOf(page, "Valid for")).toBe("7");
  const dialog = page.getByRole("dialog");
  expect(await dialog.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
  await days.press("Enter");
  await page.getByRole("menu").waitFor();
  expect(await violations(page)).toEqual([]); // it scrolls, which may close the menu
  await dialog.getByRole("button", { name: "Make a link" }).click();
  await dialog.getByLabel("Link (shown only once)").waitFor();
  const { shares } = await here.server.ask<{ shares: { created_at: string; expires_at: string }[] }>(
    "GET",
    `/api/conversations/${id}/shares`,
  );
  const valid = shares.map((each) => Date.parse(each.expires_at) - Date.parse(each.created_at));
  expect(valid).toEqual([7 * 24 * 3600 * 1000]);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
});

test("a reader loads older messages, and sees none that were said later", async ({ person }) => {
  const made = await here.server.ask<{ link: string }>("POST", "/api/conversations/long/shares", {});
  const reader = await stranger(here.browser, here.server, made.link);
  await isReadOnly(reader.page);
  const beginning = reader.page.locator(".row.said .bubble", { hasText: /^Question 1$/ });
  await expect
    .poll(
      async () => {
        await reader.page.locator(".scroller").evaluate((element) => element.scrollTo(0, 0));
        return beginning.isVisible();
      },
      { timeout: 60_000 },
    )
    .toBe(true);
  await reader.leave();
  expect(person.problems).toEqual([]);
});

test("a shared conversation opens at its beginning", async ({ person, expect: expects }) => {
  const { page } = person;
  const id = await person.quick("a tool, a plan, a long answer");
  await page.locator(".row.turn").waitFor();
  const made = await here.server.ask<{ link: string }>("POST", `/api/conversations/${id}/shares`, {});
  const reader = await stranger(here.browser, here.server, made.link);
  await reader.page.locator(".row.said", { hasText: "a long answer" }).waitFor();
  const scroller = reader.page.locator(".scroller");
  await expects.poll(() => scroller.evaluate((each) => each.scrollHeight > each.clientHeight)).toBe(true);
  expects(await scroller.evaluate((each) => each.scrollTop)).toBe(0);
  await reader.page.getByRole("button", { name: "Go to the newest message" }).click();
  await reader.page.locator(".row.turn").waitFor();
  await reader.leave();
});

test("a signed-in user who opens a link sees the shared page; a wrong link has ended", async ({ person }) => {
  const { page } = person;
  await person.quick("hello");
  await page.locator(".row.turn").waitFor();
  const link = await share(page);
  await page.goto(link);
  await isReadOnly(page);
  for (const wrong of ["#tw_wrong", "#", ""]) {
    const reader = await stranger(here.browser, here.server, `${here.server.url}/shared${wrong}`);
    await reader.page.getByRole("heading", { name: "This link has ended" }).waitFor();
    await reader.leave();
  }
});

test("another link in the same tab shows the other conversation", async ({ person }) => {
  const links: string[] = [];
  for (const words of ["the first one", "the second one"]) {
    const id = await person.quick(words);
    await person.page.locator(".row.turn").waitFor();
    links.push((await here.server.ask<{ link: string }>("POST", `/api/conversations/${id}/shares`, {})).link);
  }
  const [first = "", second = ""] = links;
  const reader = await stranger(here.browser, here.server, first);
  await reader.page.locator(".row.said", { hasText: "the first one" }).waitFor();
  await reader.page.goto(second);
  await reader.page.locator(".row.said", { hasText: "the second one" }).waitFor();
  expect(await reader.page.locator(".row.said").count()).toBe(1);
  await reader.leave();
});
