// The buttons of a message can be reached with a moving mouse, by touch, and with the keyboard.
import type { Locator, Page } from "playwright-core";
import { Person, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

/** Moves the mouse in a straight line from the middle of one element to the middle of another, and clicks. */
async function walkAndClick(page: Page, from: Locator, to: Locator): Promise<void> {
  const middle = async (each: Locator) => {
    const box = await each.boundingBox();
    if (!box) throw new Error("There is nothing to move to.");
    return [box.x + box.width / 2, box.y + box.height / 2] as const;
  };
  await page.mouse.move(...(await middle(from)));
  await page.mouse.move(...(await middle(to)), { steps: 40 });
  await page.mouse.down();
  await page.mouse.up();
}

test("a mouse that moves from a row to its buttons clicks the buttons of that row", async ({
  person,
  expect,
}) => {
  const { page } = person;
  for (const [width, height] of [
    [1280, 800],
    [1000, 800],
    [375, 667],
  ] as const) {
    await page.setViewportSize({ width, height });
    const id = await person.quick("hello");
    await state(page, "Ready");
    await say(page, "think");
    await expect.poll(() => page.locator(".row.turn").count()).toBe(2);
    await state(page, "Ready");
    const layers = page.getByRole("dialog", { name: "Inspect" });
    const thoughts = page.locator(".row.thinking");
    await walkAndClick(page, thoughts.locator("summary"), thoughts.getByRole("button", { name: "Inspect" }));
    await layers.getByRole("region", { name: "Shown" }).getByText('"thinking"').waitFor();
    await page.keyboard.press("Escape");
    await layers.waitFor({ state: "detached" });
    const said = page.locator(".row.said", { hasText: "think" });
    await walkAndClick(page, said.locator(".bubble"), said.getByRole("button", { name: "Inspect" }));
    await layers.getByRole("region", { name: "Frame" }).getByText('"user.message"').waitFor();
    await page.keyboard.press("Escape");
    await layers.waitFor({ state: "detached" });
    await walkAndClick(page, said.locator(".bubble"), said.getByRole("button", { name: "Edit" }));
    await page.waitForURL((url) => /\/c\//.test(url.pathname) && !url.pathname.endsWith(id));
    await expect.poll(() => page.getByLabel("Message", { exact: true }).inputValue()).toBe("think");
  }
});

test("a finger taps a message, and then its buttons", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
  });
  await person.beKnown();
  const { page } = person;
  const id = await person.quick("hello");
  await state(page, "Ready");
  const said = page.locator(".row.said");
  // The list may still move its rows, or take two quick taps for another gesture: then tap again.
  const tap = (name: string, done: () => Promise<unknown>) =>
    expect
      .poll(async () => {
        const button = said.getByRole("button", { name });
        if (!(await button.isVisible())) {
          await said.locator(".bubble").tap({ timeout: 2_000 });
          await button.waitFor({ timeout: 2_000 });
        }
        await button.tap({ timeout: 2_000 });
        await done();
        return true;
      })
      .toBe(true);
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await tap("Inspect", () => layers.waitFor({ timeout: 5_000 }));
  await layers.getByRole("region", { name: "Frame" }).getByText('"user.message"').waitFor();
  await layers.getByRole("button", { name: "Close" }).tap();
  await layers.waitFor({ state: "detached" });
  const isFork = (url: URL) => /\/c\//.test(url.pathname) && !url.pathname.endsWith(id);
  await tap("Edit", () => page.waitForURL(isFork, { timeout: 5_000 }));
  await expect.poll(() => page.getByLabel("Message", { exact: true }).inputValue()).toBe("hello");
  await person.leave();
});

test("the buttons of a message are visible while one of them has the focus", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const inspect = page.locator(".row.said").getByRole("button", { name: "Inspect" });
  await page.locator(".scroller").focus();
  await expect
    .poll(async () => {
      await page.keyboard.press("Tab");
      return inspect.evaluate((each) => each === document.activeElement);
    })
    .toBe(true);
  expect(await inspect.locator("..").evaluate((each) => getComputedStyle(each).opacity)).toBe("1");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Inspect" }).waitFor();
});
