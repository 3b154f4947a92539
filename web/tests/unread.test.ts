// Marks of conversations with news that this browser has not shown.
import type { Locator, Page } from "playwright-core";
import { violations, violationsEverywhere } from "./axe";
import { Person, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

interface Info {
  id: string;
  status: { running: boolean; last_turn_id?: number };
}

const create = async (title: string, more: object = {}) =>
  (await here.server.ask<Info>("POST", "/api/conversations", { title, ...more })).id;
const listOf = (page: Page) => page.getByRole("navigation", { name: "Conversations" });
const entryOf = (page: Page, title: string) => listOf(page).locator("li", { hasText: title });
/** A mark, as it is told to a screen reader. */
const markOf = (page: Page, title: string) => entryOf(page, title).getByText("Unread", { exact: true });
const weightOf = (page: Page, title: string) =>
  entryOf(page, title)
    .locator(".name")
    .evaluate((each) => Number(getComputedStyle(each).fontWeight));

/** Lets a test say whether the browser shows the tab. */
const withTabs = (person: Person) =>
  person.context.addInitScript(() => {
    const isHidden = () => sessionStorage.getItem("hidden") !== null;
    Object.defineProperty(document, "visibilityState", { get: () => (isHidden() ? "hidden" : "visible") });
    Object.defineProperty(document, "hidden", { get: isHidden });
  });

async function show(page: Page, isShown: boolean): Promise<void> {
  await page.evaluate((isShown) => {
    if (isShown) sessionStorage.removeItem("hidden");
    else sessionStorage.setItem("hidden", "yes");
    document.dispatchEvent(new Event("visibilitychange"));
  }, isShown);
}

/** Opens the page for the first time. */
async function visit(page: Page, path = "/inbox"): Promise<void> {
  await page.goto(here.server.url + path);
  await listOf(page).locator(".entry").first().waitFor();
  await page.waitForFunction(() => localStorage.getItem("turnwire:shown") !== null);
}

/** Another browser of the same person. Returns when the answer has ended. */
async function sayElsewhere(id: string, words = "hello"): Promise<void> {
  const other = await Person.come(here.browser, here.server);
  await other.beKnown();
  await other.page.goto(`${here.server.url}/c/${id}`);
  await say(other.page, words);
  await other.page.locator(".row.turn").last().waitFor();
  await other.leave();
}

async function choose(page: Page, title: string, action: string): Promise<void> {
  await entryOf(page, title).hover();
  await entryOf(page, title).getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: action }).click();
}

test("an answer that ended elsewhere marks its conversation, and opening it clears the mark in all tabs", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await create("Lighthouse");
  await create("Quiet pier");
  await visit(page);
  const other = await person.tab("/inbox");
  await sayElsewhere(id);
  for (const tab of [page, other]) await markOf(tab, "Lighthouse").waitFor();
  expect(await weightOf(page, "Lighthouse")).toBeGreaterThan(await weightOf(page, "Quiet pier"));
  await expect.poll(() => page.title()).toMatch(/^\(\d+\) Turnwire$/);
  await page.bringToFront(); // a tab in the background draws no rows
  expect(await violationsEverywhere(page)).toEqual([]);
  await entryOf(page, "Lighthouse").getByRole("link").first().click();
  await page.locator(".row.turn").waitFor();
  for (const tab of [page, other]) await markOf(tab, "Lighthouse").waitFor({ state: "detached" });
  await page.reload();
  await page.locator(".row.turn").waitFor();
  expect(await markOf(page, "Lighthouse").count()).toBe(0);
});

test("what was there at the first visit is read, and so is what a person says in this browser", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await create("Old harbour");
  await sayElsewhere(id);
  await visit(page);
  await entryOf(page, "Old harbour").waitFor();
  expect(await markOf(page, "Old harbour").count()).toBe(0);
  await create("New harbour");
  await entryOf(page, "New harbour").getByRole("link").first().click();
  await say(page, "hello");
  await page.locator(".row.turn").waitFor();
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  // A later change of the list has come, too.
  await here.server.ask("PATCH", `/api/conversations/${id}`, { labels: ["seen"] });
  await entryOf(page, "Old harbour").getByText("seen").waitFor();
  expect(await markOf(page, "New harbour").count()).toBe(0);
});

test("a working conversation of the person is not marked before its answer has ended", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await create("Slow boat", { options: { delay: 0.05 } });
  await visit(page);
  await page.goto(`${here.server.url}/c/${id}`);
  await say(page, "a long answer");
  await state(page, "Working");
  await page.getByRole("link", { name: "Inbox" }).click();
  await entryOf(page, "Slow boat").locator(".dot.busy").waitFor();
  expect(await markOf(page, "Slow boat").count()).toBe(0);
  const other = await Person.come(here.browser, here.server);
  await other.beKnown();
  await other.page.goto(`${here.server.url}/c/${id}`);
  await state(other.page, "Working");
  await other.page.getByRole("button", { name: "Stop", exact: true }).click();
  await other.leave();
  await markOf(page, "Slow boat").waitFor();
  expect(await entryOf(page, "Slow boat").locator(".dot.busy").count()).toBe(0);
});

test("a conversation that is open in a hidden tab is marked, until the tab is shown", async ({
  alone: person,
  expect,
}) => {
  const { page } = person;
  await withTabs(person);
  const id = await create("Night watch");
  await visit(page, `/c/${id}`);
  await state(page, "Ready");
  await show(page, false);
  await sayElsewhere(id);
  await markOf(page, "Night watch").waitFor({ state: "attached" });
  await expect.poll(() => page.title()).toMatch(/^\(\d+\) Night watch/);
  await show(page, true);
  await markOf(page, "Night watch").waitFor({ state: "detached" });
});

test("a request of the agent marks its conversation", async ({ person }) => {
  const { page } = person;
  const id = await create("Ask first");
  await visit(page);
  const other = await Person.come(here.browser, here.server);
  await other.beKnown();
  await other.page.goto(`${here.server.url}/c/${id}`);
  await say(other.page, "ask me a question");
  await markOf(page, "Ask first").waitFor();
  await other.leave();
});

test("a person marks a conversation as unread and as read with the menu, by keyboard alone, also the open one", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await create("Logbook");
  await visit(page, `/c/${id}`);
  const other = await person.tab("/inbox");
  await page.bringToFront();
  await state(page, "Ready");
  await page.getByRole("main").getByRole("button", { name: "More" }).focus();
  await page.keyboard.press("Enter");
  const item = page.getByRole("menuitem", { name: "Mark as unread" });
  await item.waitFor();
  await item.focus();
  await page.keyboard.press("Enter");
  for (const tab of [page, other]) await markOf(tab, "Logbook").waitFor(); // it stays, although it is open
  await entryOf(page, "Logbook").getByRole("link").first().focus();
  await page.keyboard.press("Enter");
  await markOf(other, "Logbook").waitFor({ state: "detached" });
  await choose(other, "Logbook", "Mark as unread");
  await markOf(page, "Logbook").waitFor();
  await choose(other, "Logbook", "Mark as read");
  await markOf(page, "Logbook").waitFor({ state: "detached" });
  await choose(other, "Logbook", "Mark as unread");
  await markOf(page, "Logbook").waitFor();
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  expect(await markOf(page, "Logbook").count()).toBe(1);
  await entryOf(page, "Logbook").getByRole("link").first().click();
  for (const tab of [page, other]) await markOf(tab, "Logbook").waitFor({ state: "detached" });
});

test("several conversations are marked as read at once", async ({ person, expect }) => {
  const { page } = person;
  const titles = ["Rope one", "Rope two"];
  for (const title of titles) await create(title);
  await visit(page);
  for (const title of titles) await choose(page, title, "Mark as unread");
  const list = listOf(page);
  await list.getByRole("button", { name: "Select several" }).click();
  const mark = list.getByRole("button", { name: "Mark as read" });
  expect(await mark.isDisabled()).toBe(true);
  for (const title of titles) await list.getByRole("checkbox", { name: title }).check();
  expect(await violations(page)).toEqual([]);
  await mark.click();
  for (const title of titles) await markOf(page, title).waitFor({ state: "detached" });
  await list.getByRole("checkbox").first().waitFor({ state: "detached" });
});

test("on a phone a mark and the menu are beside each other, and a touch clears the mark", async ({
  expect,
}) => {
  const title = "A long walk along the whole coast to the old lighthouse";
  await create(title);
  const person = await Person.enter(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  const { page } = person;
  await page.getByRole("button", { name: "Conversations" }).tap();
  const entry = page.locator(".list li", { hasText: title });
  await entry.getByRole("button", { name: "More" }).tap();
  await page.getByRole("menuitem", { name: "Mark as unread" }).tap();
  const dot = entry.locator(".news");
  await dot.waitFor();
  const boxOf = (each: Locator) => each.boundingBox();
  const [mark, menu, name] = [
    await boxOf(dot),
    await boxOf(entry.locator(".entry-menu")),
    await boxOf(entry.locator(".name")),
  ];
  expect(mark && menu && mark.x + mark.width <= menu.x).toBe(true);
  expect(mark && name && name.x + name.width <= mark.x).toBe(true);
  await entry.getByRole("link").first().tap();
  await state(page, "Ready");
  await page.getByRole("button", { name: "Conversations" }).tap();
  await entry.waitFor();
  await dot.waitFor({ state: "detached" });
  await person.leave();
});

test("the browser remembers a limited number of conversations, and forgets deleted ones", async ({
  alone: person,
  expect,
}) => {
  const { page } = person;
  const [kept, deleted] = [await create("Kept"), await create("Deleted soon")];
  await visit(page);
  await page.evaluate(() => {
    const seen = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`gone-${at}`, [1, 1000 + at]]));
    localStorage.setItem("turnwire:shown", JSON.stringify({ since: 0, seen }));
  });
  await page.goto(`${here.server.url}/c/${kept}`);
  const stored = () =>
    page.evaluate(
      () =>
        JSON.parse(localStorage.getItem("turnwire:shown") ?? "{}") as {
          since: number;
          seen: Record<string, unknown>;
        },
    );
  await expect.poll(async () => Object.keys((await stored()).seen).at(-1)).toBe(kept);
  expect(Object.keys((await stored()).seen)).toHaveLength(300);
  expect((await stored()).since).toBe(1000); // older ones stay read
  await page.goto(`${here.server.url}/c/${deleted}`);
  await expect.poll(async () => Object.keys((await stored()).seen).at(-1)).toBe(deleted);
  await choose(page, "Deleted soon", "Delete");
  await page.locator(".notice").getByRole("button", { name: "Dismiss" }).click();
  await expect.poll(async () => Object.keys((await stored()).seen).at(-1)).toBe(kept);
});

test("nonsense in the storage is that of a first visit", async ({ alone: person, expect }) => {
  const { page } = person;
  const id = await create("Signal");
  await sayElsewhere(id);
  for (const nonsense of ["", "7", "{}", '{"since":"now","seen":{}}', "[[", '{"since":null}']) {
    await page.goto(`${here.server.url}/inbox`);
    await page.evaluate((text) => localStorage.setItem("turnwire:shown", text), nonsense);
    await page.reload();
    await entryOf(page, "Signal").waitFor();
    await page.waitForFunction(() => localStorage.getItem("turnwire:shown")?.startsWith('{"since":1'));
    expect(await markOf(page, "Signal").count()).toBe(0);
  }
  await page.evaluate((id) => {
    localStorage.setItem("turnwire:shown", JSON.stringify({ since: 0, seen: { [id]: null, other: "x" } }));
  }, id);
  await page.reload();
  await markOf(page, "Signal").waitFor();
  await entryOf(page, "Signal").getByRole("link").first().click();
  await markOf(page, "Signal").waitFor({ state: "detached" });
});
