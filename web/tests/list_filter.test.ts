// The filter by state of a long list: the server looks for the conversations.
import { say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

const create = (title: string) =>
  here.server.ask<{ id: string }>("POST", "/api/conversations", { title, options: { delay: 0 } });

test("the filter by state finds a conversation that is not loaded yet, and the open one stays as it is", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const old = await create("Old one");
  await page.goto(`${here.server.url}/c/${old.id}`);
  await say(page, "ask me a question");
  await state(page, "Waiting for you");
  for (let each = 0; each < 55; each += 1) await create(`Later ${each}`);
  const list = page.getByRole("navigation", { name: "Conversations" });
  await page.goto(`${here.server.url}/inbox`);
  await list.getByText("Later 54").waitFor();
  expect(await list.getByText("Old one").count()).toBe(0);
  await list.getByRole("button", { name: "Filter the list" }).click();
  await page.getByRole("menuitemradio", { name: "Waiting for you" }).click();
  await list.getByText("Old one").click();
  await state(page, "Waiting for you");
  // Its answer takes it out of the list. The conversation itself still shows what the server knows.
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect.poll(() => list.getByText("Old one").count()).toBe(0);
  await here.server.ask("PATCH", `/api/conversations/${old.id}`, { pinned: true });
  await expect
    .poll(async () => {
      await page.keyboard.press("Escape");
      await page.locator("main").getByRole("button", { name: "More" }).click();
      return page.getByRole("menuitem", { name: "Unpin" }).count();
    })
    .toBe(1);
});
