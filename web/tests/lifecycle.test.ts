// A conversation is renamed, exported, archived, restored and deleted.
import { state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

test("archiving can be undone at once, and later from the list of archived conversations", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const { server } = here;
  const { id } = await server.ask<{ id: string }>("POST", "/api/conversations", { title: "Kept words" });
  const isArchived = async () =>
    (await server.ask<{ archived?: boolean }>("GET", `/api/conversations/${id}`)).archived === true;
  const list = page.getByRole("navigation", { name: "Conversations" });
  const archive = async () => {
    await page.goto(`${server.url}/c/${id}`);
    await state(page, "Ready");
    await page.getByRole("main").getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Archive" }).click();
    await expect.poll(isArchived).toBe(true);
    await expect.poll(() => list.getByText("Kept words").count()).toBe(0);
  };
  await archive();
  await page.locator(".notice", { hasText: "Archived" }).getByRole("button", { name: "Undo" }).click();
  await expect.poll(isArchived).toBe(false);
  await page.waitForURL(`${server.url}/c/${id}`);
  await state(page, "Ready");
  await list.getByText("Kept words").waitFor();

  await archive();
  await page.getByRole("button", { name: "Archived" }).click();
  await list.getByRole("button", { name: "Take “Kept words” out of the archive" }).click();
  await expect.poll(isArchived).toBe(false);
  await expect.poll(() => list.getByText("Kept words").count()).toBe(0);
  await page.getByRole("button", { name: "Current conversations" }).click();
  await list.getByText("Kept words").waitFor();
});

test("a conversation is renamed, found, exported, archived, restored and deleted", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("hello zebra");
  // The page is ready before the turn, too.
  await page.locator(".row.text", { hasText: "You said" }).waitFor();
  await state(page, "Ready");
  await page.getByRole("button", { name: "hello zebra" }).click();
  await page.getByRole("textbox", { name: "Rename" }).fill("Striped animals");
  await page.keyboard.press("Enter");
  await page.locator("nav").getByText("Striped animals").waitFor();
  await page.getByRole("searchbox").fill("zebra");
  await page.keyboard.press("Enter");
  await page.locator(".hits mark", { hasText: "zebra" }).first().click();
  await page.waitForURL(new RegExp(`/c/${id}\\?at=`));
  await page.locator(".sought").waitFor();

  await page.locator("main").getByRole("button", { name: "More" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export as JSONL" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("Striped animals.jsonl");
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Archive" }).click();
  await expect.poll(() => page.locator("nav").getByText("Striped animals").count()).toBe(0);
  await page.getByRole("button", { name: "Archived" }).click();
  await page.locator("nav").getByText("Striped animals").click();
  await page.getByRole("heading", { name: "This conversation is archived" }).waitFor();
  // An archived conversation can be read, also by its address. Every tab shows its state.
  const other = await person.tab(`/c/${id}`);
  for (const tab of [page, other]) {
    await tab.locator("main").getByRole("heading", { name: "Striped animals" }).waitFor();
    await tab.locator(".row.said", { hasText: "hello zebra" }).waitFor();
    await expect.poll(() => tab.title()).toMatch(/^(\(\d+\) )?Striped animals · Turnwire$/);
  }
  await page.bringToFront();
  await page.getByRole("button", { name: "Take out of the archive" }).click();
  for (const tab of [page, other]) {
    // Asked again and again: a tab in the background draws nothing, so it cannot be waited for.
    await expect.poll(() => tab.locator(".state-words").allInnerTexts()).toEqual(["Ready"]);
  }
  const remove = async () => {
    await page.locator("main").getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await notice.waitFor();
    await page.waitForURL(`${here.server.url}/`);
  };
  const notice = page.locator(".notice", { hasText: "“Striped animals” will be deleted" });
  await remove();
  await notice.getByRole("button", { name: "Undo" }).click();
  await page.waitForURL(`${here.server.url}/c/${id}`);
  await state(page, "Ready");
  // A dismissed notice offers no undo any more.
  await remove();
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await other.bringToFront();
  await other.getByRole("heading", { name: "This conversation was deleted" }).waitFor();
  await expect
    .poll(() => here.server.ask("GET", `/api/conversations/${id}`).then(String, String))
    .toMatch(/404/);
});
