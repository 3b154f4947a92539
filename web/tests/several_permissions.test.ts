// Several permissions that are open at once: one at a time, or all of them together.
import { violations } from "./axe";
import { Person, say, state } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const { here, test } = stage(() =>
  Server.start({ TURNWIRE_AGENTS: "web.tests.python.builder:builder,demo", PYTHONPATH: ROOT }),
);

const commands = ["make check", "make test", "make docs"];

/** Begins a turn that wants three permissions. */
async function build({ page }: Person): Promise<void> {
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { agent: "builder" });
  await page.goto(`${here.server.url}/c/${id}`);
  await say(page, "build");
}

/** Begins a turn with three permissions, and shows all of them. */
async function showAll(person: Person): Promise<void> {
  await build(person);
  await person.page.getByRole("button", { name: "Show all 3" }).click();
  await person.page.locator(".request").nth(2).waitFor();
}

test("all are shown before all can be allowed, and each of them runs", async ({ person, expect }) => {
  const { page } = person;
  await build(person);
  await page.getByText("2 more after this").waitFor();
  expect(await page.locator(".request").count()).toBe(1);
  expect(await page.getByRole("button", { name: "Allow all 3" }).count()).toBe(0);
  await page.getByRole("button", { name: "Show all 3" }).click();
  await expect.poll(() => page.locator(".request code").allInnerTexts()).toEqual(commands);
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Allow all 3" }).click();
  await page.getByText("ran make check, ran make test, ran make docs").waitFor();
  await state(page, "Ready");
  expect(await page.locator(".requests").count()).toBe(0);
});

test("all are denied at once, with the keyboard", async ({ person, expect }) => {
  const { page } = person;
  await showAll(person);
  const deny = page.getByRole("button", { name: "Deny all 3" });
  await expect.poll(() => deny.isEnabled()).toBe(true);
  await deny.focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator(".card.tool[data-state=denied]").count()).toBe(3);
  await state(page, "Ready");
});

test("one of all is decided alone; the others stay, and a lone one has no buttons for all", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await showAll(person);
  await page.locator(".request").nth(1).getByRole("button", { name: "Deny", exact: true }).click();
  await expect.poll(() => page.locator(".request code").allInnerTexts()).toEqual(["make check", "make docs"]);
  await page.getByRole("button", { name: "Allow all 2" }).waitFor();
  await page.getByRole("button", { name: "One at a time" }).click();
  expect(await page.locator(".request").count()).toBe(1);
  await page.getByRole("button", { name: "Allow", exact: false }).first().click();
  await expect.poll(() => page.locator(".request code").allInnerTexts()).toEqual(["make docs"]);
  expect(await page.getByRole("button", { name: /all/ }).count()).toBe(0);
  await page.locator(".request kbd:not(.soon)").first().waitFor(); // the key works a moment later
  await page.keyboard.press("y");
  await state(page, "Ready");
});

test("while a form is open, all of them cannot be decided", async ({ person, expect }) => {
  const { page } = person;
  await showAll(person);
  const allow = page.getByRole("button", { name: "Allow all 3" });
  await expect.poll(() => allow.isEnabled()).toBe(true);
  await page.locator(".request").nth(1).getByRole("button", { name: "Edit" }).click();
  await page.locator(".request").nth(1).getByRole("textbox").fill("make something");
  await expect.poll(() => allow.isEnabled()).toBe(false);
  await page.locator(".request").nth(1).getByRole("button", { name: "Back" }).click();
  await expect.poll(() => allow.isEnabled()).toBe(true);
  await allow.click();
  await page.getByText("ran make check, ran make test, ran make docs").waitFor();
});

test("a second tab that has decided one leaves the others to be decided", async ({ person, expect }) => {
  const { page } = person;
  await showAll(person);
  const other = await person.context.newPage();
  await other.goto(page.url());
  await other.getByRole("button", { name: "Deny", exact: false }).first().click();
  await page.getByRole("button", { name: "Allow all 2" }).click();
  await state(page, "Ready");
  await expect.poll(() => page.locator(".card.tool[data-state=denied]").count()).toBe(1);
  expect(await page.locator(".card.tool[data-state=done]").count()).toBe(2);
});

test("on a phone all of them scroll above the buttons, which stay in sight", async ({ expect }) => {
  const options = { viewport: { width: 375, height: 667 }, hasTouch: true, isMobile: true };
  const person = await Person.enter(here.browser, here.server, options);
  const { page } = person;
  await build(person);
  await page.getByRole("button", { name: "Show all 3" }).tap();
  const allow = page.getByRole("button", { name: "Allow all 3" });
  await allow.waitFor();
  await expect.poll(async () => ((await allow.boundingBox())?.y ?? 999) + 30).toBeLessThan(667);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  await page.locator(".request").nth(2).scrollIntoViewIfNeeded();
  await expect.poll(() => page.locator(".request").nth(2).isVisible()).toBe(true);
  await allow.tap();
  await state(page, "Ready");
  await person.leave();
});
