// Editing a sent message forks the conversation before it.
import { pressIn, saidOn, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

test("an edited message is sent in a fork with the same beginning", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("hello");
  await state(page, "Ready");
  await say(page, "use a tool");
  await page.locator(".markdown", { hasText: "There are three of them" }).waitFor();
  await state(page, "Ready");

  const second = page.locator(".row.said", { hasText: "use a tool" });
  await pressIn(second, "Edit, and send it");
  await page.waitForURL((url) => /\/c\//.test(url.pathname) && !url.pathname.endsWith(id));
  await page.getByText("The original stays as it is.").waitFor();
  const field = page.getByLabel("Message", { exact: true });
  await page.locator(".row.said", { hasText: "hello" }).waitFor();
  await expect.poll(saidOn(page)).toEqual(["hello"]);
  expect(await field.inputValue()).toBe("use a tool");

  await field.fill("think about it");
  await field.press("Enter");
  await page.locator(".row.said", { hasText: "think about it" }).waitFor();
  await state(page, "Ready");
  const forked = await here.server.ask<{ forked_from: { id: string } }>(
    "GET",
    `/api/conversations/${new URL(page.url()).pathname.slice(3)}`,
  );
  expect(forked.forked_from.id).toBe(id);

  await page.goto(`${here.server.url}/c/${id}`);
  await page.locator(".row.said", { hasText: "use a tool" }).waitFor();
  await expect.poll(saidOn(page)).toEqual(["hello", "use a tool"]);
});

test("a fork names its original and links to it", async ({ person, expect }) => {
  const { page } = person;
  const { server } = here;
  const { id } = await server.ask<{ id: string }>("POST", "/api/conversations", { title: "Garden plans" });
  await page.goto(`${server.url}/c/${id}`);
  await say(page, "hello");
  await page.locator(".row.turn").waitFor();
  const fork = await server.ask<{ id: string }>("POST", `/api/conversations/${id}/fork`, {});
  await page.goto(`${server.url}/c/${fork.id}`);
  const list = page.getByRole("navigation", { name: "Conversations" });
  await page.getByRole("heading", { name: "Fork of Garden plans" }).waitFor();
  await expect.poll(() => page.title()).toMatch(/^(\(\d+\) )?Fork of Garden plans · Turnwire$/);
  await list.getByRole("link", { name: "Fork of Garden plans" }).waitFor();
  for (const place of [page.getByRole("main"), list]) {
    await page.goto(`${server.url}/c/${fork.id}`);
    await place.getByRole("link", { name: "Original: Garden plans" }).click();
    await page.waitForURL(`${server.url}/c/${id}`);
    await page.getByRole("heading", { name: "Garden plans", exact: true }).waitFor();
  }
  // A renamed fork still links to its original. If the original was deleted, the fork has no link.
  await server.ask("PATCH", `/api/conversations/${fork.id}`, { title: "Another garden" });
  await page.goto(`${server.url}/c/${fork.id}`);
  await page.getByRole("heading", { name: "Another garden", exact: true }).waitFor();
  await page.getByRole("main").getByRole("link", { name: "Original: Garden plans" }).waitFor();
  await server.ask("DELETE", `/api/conversations/${id}`);
  await page.reload();
  await page
    .getByRole("main")
    .locator("span.original", { hasText: /^Fork$/ })
    .waitFor();
});

test("a fork before the first message is named as a fork until it is renamed", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("good evening");
  await state(page, "Ready");
  await pressIn(page.locator(".row.said", { hasText: "good evening" }), "Edit, and send it");
  await page.waitForURL((url) => /\/c\//.test(url.pathname) && !url.pathname.endsWith(id));
  const fork = new URL(page.url()).pathname.slice(3);
  const named = (name: string) => page.getByRole("heading", { name, exact: true }).waitFor();
  await named("Fork of good evening");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("good morning");
  await field.press("Enter");
  await page.locator(".row.turn").waitFor();
  await state(page, "Ready");
  await named("Fork of good evening");
  await page.reload();
  await named("Fork of good evening");
  const list = page.getByRole("navigation", { name: "Conversations" });
  await list.getByRole("link", { name: "Fork of good evening" }).waitFor();
  await here.server.ask("PATCH", `/api/conversations/${fork}`, { title: "Mornings" });
  await named("Mornings");
  // A fork without a title of its own, such as one that another client made, is a fork, too.
  const other = await here.server.ask<{ id: string }>("POST", `/api/conversations/${id}/fork`, {
    at_sequence: 0,
  });
  await page.goto(`${here.server.url}/c/${other.id}`);
  await named("Fork of good evening");
  await expect.poll(() => page.title()).toContain("Fork of good evening · Turnwire");
});
