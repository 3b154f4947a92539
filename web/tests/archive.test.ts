// Conversations go into the archive, and what was done by mistake is undone.
import { state } from "./browser";
import { stage } from "./stage";

const { here, test } = stage();

test("archiving can be undone at once, and later from the list of what is archived", async ({
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
  await page.getByRole("button", { name: "Back to current" }).click();
  await list.getByText("Kept words").waitFor();
});
