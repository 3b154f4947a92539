// The list of conversations: groups, pins, labels, filters, and actions on several at once.
import { violations } from "./axe";
import { Person, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

interface Info {
  id: string;
  archived?: boolean;
  pinned?: boolean;
  labels?: string[];
}

const create = (title: string, more: object = {}) =>
  here.server.ask<Info>("POST", "/api/conversations", { title, ...more });
const infoOf = (id: string) => here.server.ask<Info>("GET", `/api/conversations/${id}`);

test("a pin and labels are set from the list, and another tab shows them", async ({ person, expect }) => {
  const { page } = person;
  const { id } = await create("Garden");
  await create("Kitchen");
  await page.goto(`${here.server.url}/inbox`);
  const other = await person.tab("/inbox");
  await page.bringToFront();
  const list = page.getByRole("navigation", { name: "Conversations" });
  const entry = list.locator("li", { hasText: "Garden" });
  await entry.hover();
  await entry.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Pin to the top" }).click();
  for (const tab of [page, other])
    await expect.poll(() => tab.locator(".list section").first().innerText()).toMatch(/^Pinned[\s\S]*Garden/);

  // With the keyboard alone.
  await entry.getByRole("link").focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Labels of “Garden”" }).waitFor();
  await page.keyboard.type("plants");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Remove the label plants" }).waitFor();
  await page.keyboard.type("to do");
  await page.keyboard.press("Enter");
  await expect.poll(async () => (await infoOf(id)).labels).toEqual(["plants", "to do"]);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect.poll(() => other.locator(".list .label").allInnerTexts()).toEqual(["plants", "to do"]);

  // The list shows only the conversations with a label, until the filter is taken away.
  await list.getByRole("button", { name: "Filter the list" }).click();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("menuitemradio", { name: "plants" }).click();
  await expect.poll(() => list.locator(".entry .name").allInnerTexts()).toEqual(["Garden"]);
  await list.getByRole("button", { name: "Stop filtering by plants" }).click();
  await list.getByText("Kitchen").waitFor();

  await entry.hover();
  await entry.getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Unpin" }).click();
  await expect.poll(async () => (await infoOf(id)).pinned).toBe(undefined);
});

test("the list shows only conversations in a state", async ({ person, expect }) => {
  const { page } = person;
  await create("Quiet one");
  const { id } = await create("Loud one");
  await page.goto(`${here.server.url}/c/${id}`);
  await say(page, "ask me a question");
  await state(page, "Waiting for you");
  const list = page.getByRole("navigation", { name: "Conversations" });
  await list.getByRole("button", { name: "Filter the list" }).click();
  await page.getByRole("menuitemradio", { name: "Waiting for you" }).click();
  await expect.poll(() => list.locator(".entry .name").allInnerTexts()).toEqual(["Loud one"]);
  await list.getByRole("button", { name: "Stop filtering by Waiting for you" }).click();
  await list.getByText("Quiet one").waitFor();
});

test("several conversations are archived at once, deleted at once, and brought back", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const ids = [await create("Bulk one"), await create("Bulk two")].map((each) => each.id);
  const archived = () => Promise.all(ids.map(async (id) => (await infoOf(id)).archived === true));
  await page.goto(`${here.server.url}/inbox`);
  const list = page.getByRole("navigation", { name: "Conversations" });
  const select = async () => {
    await list.getByRole("button", { name: "Select several" }).click();
    for (const name of ["Bulk one", "Bulk two"]) await list.getByRole("checkbox", { name }).check();
    await list.getByText("2 selected").waitFor();
  };
  const undo = async (text: string) => {
    const notice = page.locator(".notice", { hasText: text });
    await notice.getByRole("button", { name: "Undo" }).click();
    await expect.poll(archived).toEqual([false, false]);
    await list.getByText("Bulk one").waitFor();
  };
  await select();
  expect(await violations(page)).toEqual([]);
  await list.getByRole("button", { name: "Archive", exact: true }).click();
  await expect.poll(archived).toEqual([true, true]);
  await expect.poll(() => list.getByText("Bulk").count()).toBe(0);
  await undo("2 conversations archived");

  await select();
  await list.getByRole("button", { name: "Delete" }).click();
  await expect.poll(archived).toEqual([true, true]);
  await undo("2 conversations will be deleted");

  // Leaving the page carries the deletion out.
  await select();
  await list.getByRole("button", { name: "Delete" }).click();
  await page.locator(".notice", { hasText: "2 conversations will be deleted" }).waitFor();
  await page.goto(`${here.server.url}/new`);
  for (const id of ids) await expect.poll(() => infoOf(id).catch(String)).toMatch(/404/);
});

test("the archive has a heading, and taking out of it can be undone", async ({ person, expect }) => {
  const { page } = person;
  const { id } = await create("Old plans");
  await here.server.ask("PATCH", `/api/conversations/${id}`, { archived: true });
  await page.goto(`${here.server.url}/inbox`);
  const list = page.getByRole("navigation", { name: "Conversations" });
  await list.getByRole("button", { name: "Archived" }).click();
  await list.getByRole("heading", { name: "Archived conversations" }).waitFor();
  await list.getByRole("button", { name: "Take “Old plans” out of the archive" }).click();
  await expect.poll(async () => (await infoOf(id)).archived).toBe(undefined);
  await page.locator(".notice", { hasText: "Taken out" }).getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await infoOf(id)).archived).toBe(true);
});

test("undo after archiving from the list stays on the page, and its notice covers no page", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const { id } = await create("Kept away");
  await page.goto(`${here.server.url}/inbox`);
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await page.getByRole("link", { name: "Kept away" }).hover();
  await page.getByTitle("Actions on “Kept away”").click();
  await page.getByRole("menuitem", { name: "Archive" }).click();
  await expect.poll(async () => (await infoOf(id)).archived).toBe(true);
  const notice = page.locator(".notice", { hasText: "Archived" });
  await notice.waitFor();
  const edges = await notice.evaluate((each) => {
    const right = (found: Element | null) => found?.getBoundingClientRect().right ?? 0;
    const main = document.getElementById("main")?.getBoundingClientRect().left ?? 0;
    return { rest: right(each) - right(each.querySelector("button:last-child")), over: right(each) - main };
  });
  expect(edges.rest).toBeLessThanOrEqual(12);
  expect(edges.over).toBeLessThanOrEqual(0);
  await notice.getByRole("button", { name: "Undo" }).click();
  await expect.poll(async () => (await infoOf(id)).archived).toBe(undefined);
  await page.locator(".notice", { hasText: "Taken out" }).waitFor();
  expect(page.url()).toBe(`${here.server.url}/inbox`);
});

test("on a phone the menu of a conversation is there without a mouse, and inside of the screen", async ({
  expect,
}) => {
  await create("Touched");
  const person = await Person.enter(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  const { page } = person;
  await page.getByRole("button", { name: "Conversations" }).tap();
  await page.getByTitle("Actions on “Touched”").tap();
  const box = await page.getByRole("menu").boundingBox();
  expect(box && box.x >= 0 && box.x + box.width <= 375 && box.y + box.height <= 667).toBe(true);
  await page.getByRole("menuitem", { name: "Pin to the top" }).tap();
  await page.locator(".list section", { hasText: "Pinned" }).getByText("Touched").waitFor();
  await person.leave();
});
