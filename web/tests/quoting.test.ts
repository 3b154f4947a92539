// Selected text of a message is quoted in the composer, with mouse, keyboard and touch.
import type { Page } from "playwright-core";
import { violations } from "./axe";
import { Person } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

const composer = (page: Page) => page.getByLabel("Message", { exact: true });

test("a word that is selected with the mouse is quoted after the draft", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("think");
  await page.locator(".row.turn").waitFor(); // nothing moves any more
  await composer(page).fill("Before");
  const quote = page.getByRole("button", { name: "Quote" });
  await page.locator(".row.said .bubble").getByText("think").dblclick();
  await quote.waitFor();
  expect(await violations(page)).toEqual([]);
  await quote.click();
  await expect.poll(() => composer(page).inputValue()).toBe("Before\n\n> think\n\n");
  expect(await composer(page).evaluate((each) => each === document.activeElement)).toBe(true);
  await quote.waitFor({ state: "detached" });
  // The next words are below the quotation.
  await page.keyboard.type("Why?");
  await expect.poll(() => composer(page).inputValue()).toBe("Before\n\n> think\n\nWhy?");
});

test("the key q quotes the selection, and is a letter in a field", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("think aloud");
  await page.locator(".row.turn").waitFor(); // nothing moves any more
  await composer(page).press("q");
  await expect.poll(() => composer(page).inputValue()).toBe("q");
  await composer(page).fill("");
  await composer(page).evaluate((each) => each.blur());
  await page.keyboard.press("q"); // nothing is selected
  await page.locator(".row.said .bubble").getByText("think aloud").selectText();
  await page.keyboard.press("q");
  await expect.poll(() => composer(page).inputValue()).toBe("> think aloud\n\n");
});

test("text outside of the messages is not quoted", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("think");
  await page.locator(".row.turn").waitFor(); // nothing moves any more
  const quote = page.getByRole("button", { name: "Quote" });
  await page.locator(".row.said .bubble").getByText("think").selectText();
  await quote.waitFor();
  await page.locator("main .facts").first().selectText();
  await quote.waitFor({ state: "detached" });
  await page.keyboard.press("q");
  expect(await composer(page).inputValue()).toBe("");
});

test("a finger quotes on a phone, where the button stays inside of the page", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
  });
  await person.beKnown();
  const { page } = person;
  await person.quick("think");
  await page.locator(".row.turn").waitFor(); // nothing moves any more
  await page.locator(".row.said .bubble").getByText("think").selectText();
  const quote = page.getByRole("button", { name: "Quote" });
  const box = await quote.boundingBox();
  expect(box && box.x >= 0 && box.x + box.width <= 375 && box.height >= 40).toBe(true);
  await quote.tap();
  await expect.poll(() => composer(page).inputValue()).toBe("> think\n\n");
  await person.leave();
});
