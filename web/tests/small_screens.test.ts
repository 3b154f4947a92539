// Small screens: a phone in portrait and in landscape orientation.
import { say, state } from "./browser";
import { stage } from "./scene";

const { test } = stage();

test("on a phone the open list takes the keys: Escape closes it and does not stop the agent", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.setViewportSize({ width: 360, height: 740 });
  await person.quick("ask me a question");
  await state(page, "Waiting for you");
  const menu = page.getByRole("button", { name: "Conversations" });
  await menu.click();
  const list = page.getByRole("navigation", { name: "Conversations" });
  const isIn = () => list.evaluate((each) => each.contains(document.activeElement));
  await expect.poll(isIn).toBe(true);
  for (let time = 0; time < 12; time += 1) {
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.closest("main"))).toBe(null);
  }
  // Escape first closes an open menu in the list.
  await list.getByRole("button", { name: "Preferences" }).press("Enter");
  await page.getByRole("menu").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("menu").waitFor({ state: "detached" });
  expect(await page.locator(".sidebar.open").count()).toBe(1);
  await page.keyboard.press("Escape");
  await expect.poll(() => page.locator(".sidebar.open").count()).toBe(0);
  expect(await page.locator(".state-words").innerText()).toBe("Waiting for you");
  expect(await menu.evaluate((each) => each === document.activeElement)).toBe(true);
  // On a wide screen the open list does not block the page.
  await menu.click();
  await page.setViewportSize({ width: 1280, height: 740 });
  await page.getByRole("button", { name: "Stop" }).click();
  await state(page, "Stopped");
});

test("a request has enough space next to a long queue, and the composer stays visible", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("permission");
  await state(page, "Waiting for you");
  for (let number = 0; number < 6; number += 1) await say(page, `message ${number}`);
  await page.locator(".queue li").nth(5).waitFor();
  for (const [width, height] of [
    [740, 360],
    [360, 420],
    [1280, 500],
  ] as const) {
    await page.setViewportSize({ width, height });
    const box = async (selector: string) => {
      const found = await page.locator(selector).boundingBox();
      return found ?? { y: 0, height: 0 };
    };
    expect((await box(".requests")).height).toBeGreaterThan(120);
    const composer = await box(".composer");
    expect(composer.y + composer.height).toBeLessThanOrEqual(height);
    // The command is above the button, so that a person reads it first.
    const command = page.locator(".requests .command-line");
    const allow = page.locator(".requests").getByRole("button", { name: /^Allow/ });
    await command.scrollIntoViewIfNeeded();
    const [above, below] = [await command.boundingBox(), await allow.boundingBox()];
    expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThanOrEqual(below?.y ?? 0);
  }
  await page.setViewportSize({ width: 740, height: 360 });
  await page
    .getByRole("region", { name: "Queued messages" })
    .getByRole("button", { name: "Remove" })
    .last()
    .click();
  await expect.poll(() => page.locator(".queue li").count()).toBe(5);
});

test("on a phone every choice of a request can be reached and is not covered", async ({ person, expect }) => {
  const { page } = person;
  await page.setViewportSize({ width: 375, height: 667 });
  /** Whether the element that has the focus, or was scrolled to, is completely visible. */
  const seen = (element: Element) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    return [top + 2, (top + bottom) / 2, bottom - 2].every((y) => {
      const found = document.elementFromPoint((left + right) / 2, y);
      return found !== null && (element.contains(found) || found.contains(element));
    });
  };
  const covered = async (selector: string) => {
    const hidden: string[] = [];
    for (const each of await page.locator(selector).all()) {
      await each.evaluate((element) => element.scrollIntoView({ block: "nearest" }));
      if (!(await each.evaluate(seen))) hidden.push(await each.innerText());
    }
    return hidden;
  };
  await person.quick("a form");
  await state(page, "Waiting for you");
  await page.getByLabel("Large").waitFor();
  expect(await covered(".request .option, .request .own, .request legend")).toEqual([]);
  expect(await page.getByRole("button", { name: "Answer" }).evaluate(seen)).toBe(true);
  // The same holds for elements that the keyboard reaches.
  await page.locator(".request .own").first().focus();
  for (const name of ["Small", "Large"]) {
    await page.keyboard.press("Tab");
    const here = page.locator(".request :focus");
    expect(await here.evaluate((each) => each.closest("label")?.innerText)).toBe(name);
    expect(await here.evaluate(seen)).toBe(true);
  }
  await page.getByRole("button", { name: "Skip" }).click();
  await state(page, "Ready");
  await say(page, "delete something");
  await page.getByRole("button", { name: "Always" }).waitFor();
  expect(await covered(".request .choices button, .request .rules, .request .command-line")).toEqual([]);
  await page.getByRole("button", { name: "Deny", exact: false }).first().click();
  await state(page, "Ready");
});
