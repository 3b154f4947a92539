// The buttons of a message can be reached with a moving mouse, by touch, and with the keyboard.
import type { Locator, Page } from "playwright-core";
import { violations } from "./axe";
import { Person, pressIn, recordCopies, saidOn, say, state } from "./browser";
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

test("a finger presses the buttons of a message", async ({ expect }) => {
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
  const tap = (name: string, isDone: () => Promise<boolean>) =>
    expect
      .poll(async () => {
        if (await isDone()) return true;
        await said
          .getByRole("button", { name })
          .tap({ timeout: 2_000 })
          .catch(() => {});
        return isDone();
      })
      .toBe(true);
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await tap("Inspect", () => layers.isVisible());
  await layers.getByRole("region", { name: "Frame" }).getByText('"user.message"').waitFor();
  await layers.getByRole("button", { name: "Close" }).tap();
  await layers.waitFor({ state: "detached" });
  const isFork = (url: URL) => /\/c\//.test(url.pathname) && !url.pathname.endsWith(id);
  await tap("Edit", async () => isFork(new URL(page.url())));
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

test("the end of an answer has its buttons: the answer is copied, and given again in a fork", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("hello");
  await state(page, "Ready");
  await say(page, "think");
  await expect.poll(() => page.locator(".row.turn").count()).toBe(2);
  await state(page, "Ready");
  const end = page.locator(".row.turn").last();
  expect(await end.locator("time").count()).toBe(1);
  const copied = await recordCopies(page);
  await end.getByRole("button", { name: "Copy", exact: true }).click();
  await end.getByText("Copied").waitFor({ state: "attached" });
  expect(await copied()).toMatch(/^I have thought about it: \*\*42/);
  const again = end.getByRole("button", { name: "Regenerate, in a new conversation" });
  await again.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => /\/c\//.test(url.pathname) && !url.pathname.endsWith(id));
  await page.getByText("The original stays as it is.").waitFor();
  await expect.poll(saidOn(page)).toEqual(["hello", "think"]);
  await expect.poll(() => page.locator(".row.turn").count()).toBe(2);
  await state(page, "Ready");
  expect(await page.getByLabel("Message", { exact: true }).inputValue()).toBe("");
  await page.goto(`${here.server.url}/c/${id}`);
  await expect.poll(saidOn(page)).toEqual(["hello", "think"]);
  await expect.poll(() => page.locator(".row.turn").count()).toBe(2);
});

test("a finger presses the buttons at the end of an answer without a tap before", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  await person.beKnown();
  const { page } = person;
  const id = await person.quick("hello");
  await state(page, "Ready");
  await page.locator(".row.turn").getByRole("button", { name: "Regenerate" }).tap();
  await page.waitForURL((url) => /\/c\//.test(url.pathname) && !url.pathname.endsWith(id));
  await page.locator(".row.turn").waitFor();
  await expect.poll(saidOn(page)).toEqual(["hello"]);
  const said = page.locator(".row.said");
  await said.getByRole("button", { name: "Inspect" }).tap();
  await page.getByRole("dialog", { name: "Inspect" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await person.leave();
});

test("a copied link leads to the message, and to one block of it", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("think");
  await state(page, "Ready");
  await say(page, "hello");
  await expect.poll(() => page.locator(".row.turn").count()).toBe(2);
  await state(page, "Ready");
  const linked = async (press: () => Promise<void>) => {
    const copied = await recordCopies(page);
    await press();
    await expect.poll(copied).toMatch(/\?at=\d+$/);
    return copied();
  };
  const end = page.locator(".row.turn").last();
  const answer = await linked(() => end.getByRole("button", { name: "Link to this message" }).click());
  await page.locator(".scroller").evaluate((each) => each.scrollTo(0, 0));
  const said = page.locator(".row.said", { hasText: "think" });
  const question = await linked(() => pressIn(said, "Link to this message"));
  expect(question).not.toBe(answer);
  await page.goto(question);
  await page.locator(".sought .said", { hasText: "think" }).waitFor();
  await page.goto(answer);
  await page.locator(".sought .row.text").waitFor();
  expect(new URL(answer).pathname).toBe(`/c/${id}`);
});

test("on a later day the day of the messages is above them", async ({ alone, expect }) => {
  const { page } = alone;
  const id = await alone.quick("hello");
  await state(page, "Ready");
  expect(await page.locator(".day").count()).toBe(0);
  await page.clock.setFixedTime(Date.now() + 24 * 3600 * 1000);
  await page.goto(`${here.server.url}/c/${id}`);
  await page.locator(".row.turn").waitFor();
  await expect.poll(() => page.locator(".day").allInnerTexts()).toEqual(["Yesterday"]);
});
