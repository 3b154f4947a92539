// Parts of the page that are loaded after its first view.
import type { Page, Route } from "playwright-core";
import { menuOf, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

const part = (name: string) => new RegExp(`/assets/${name}-[\\w-]{8}\\.js$`);

/** Returns the names of the scripts that the page has loaded. */
const loadedOn = (page: Page) => () =>
  page.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .map(({ name }) => /assets\/(\w+)-[\w-]{8}\.js$/.exec(name)?.[1])
      .filter((name) => name !== undefined),
  );

/** Holds back a part. Returns the function that lets it through. */
async function heldBack(page: Page, name: string): Promise<() => void> {
  let release = () => {};
  const free = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(part(name), async (route: Route) => {
    await free;
    await route.continue();
  });
  return release;
}

test("what is typed while the palette is loading reaches it, also Enter", async ({ alone, expect }) => {
  const { page } = alone;
  const release = await heldBack(page, "Palette");
  await alone.goHome();
  const field = page.getByLabel("What do you want to say?");
  await field.focus();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("theme darl"); // "t" alone would change the theme, "c" the place
  await page.keyboard.press("Backspace");
  await page.keyboard.type("k");
  expect(await field.inputValue()).toBe("");
  await page.keyboard.press("Enter");
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBeUndefined();
  release();
  await expect.poll(() => page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
  await page.locator("dialog").waitFor({ state: "detached" });
  // A second time it is there at once.
  await page.keyboard.press("Control+k");
  expect(await page.getByRole("dialog", { name: "Commands and conversations" }).count()).toBe(1);
});

test("Escape gives up a palette that is still loading", async ({ alone, expect }) => {
  const { page } = alone;
  const release = await heldBack(page, "Palette");
  await alone.goHome();
  await page.keyboard.press("Control+k");
  await page.keyboard.press("Escape");
  await page.keyboard.type("hello");
  expect(await page.getByLabel("What do you want to say?").inputValue()).toBe("hello");
  release();
  await expect.poll(loadedOn(page)).toContain("zh"); // the last part
  expect(await page.locator("dialog").count()).toBe(0);
});

test("what was loaded ahead opens without a connection: palette, keys, settings, dialogs, the other language", async ({
  alone,
  expect,
}) => {
  const { page } = alone;
  await alone.quick("hello");
  await state(page, "Ready");
  await expect.poll(loadedOn(page)).toContain("zh");
  expect(await loadedOn(page)()).not.toContain("Shared"); // only a reader of a link needs it
  await alone.context.setOffline(true);
  await page.getByRole("button", { name: "Find in this conversation" }).click();
  await page.getByRole("search").last().waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  for (const [item, dialog] of [
    ["Labels", /^Labels of/],
    ["Share", /^Share/],
    ["Remembered permissions", /emembered permissions/],
  ] as const) {
    await page.locator(".talk-header").getByRole("button", { name: "More" }).click();
    await page.getByRole("menuitem", { name: item }).click();
    await page.getByRole("dialog", { name: dialog }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
  }
  await page.keyboard.press("Control+k");
  await page.keyboard.type("中文");
  await page.keyboard.press("Enter");
  await page.getByRole("link", { name: "收件箱" }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
});

test("a part that cannot be loaded says so, and opens at the next try", async ({ alone, expect }) => {
  const { page } = alone;
  await page.route(part("DirectoryPicker"), (route) => route.abort());
  await alone.goHome();
  await expect.poll(loadedOn(page)).toContain("zh");
  const open = page.getByRole("button", { name: /^Working directory/ });
  await open.click();
  await page.getByText("This part of the page could not be loaded.").waitFor();
  expect(await page.locator("dialog").count()).toBe(0);
  await page.unrouteAll();
  await open.click();
  await page.getByRole("dialog", { name: "Working directory" }).waitFor();
});

test("a page in Chinese is never in English first", async ({ alone, expect }) => {
  const { page } = alone;
  await page.addInitScript(() => localStorage.setItem("turnwire:language", "zh"));
  const release = await heldBack(page, "zh");
  const asked = page.waitForRequest(part("zh"));
  await page.goto(`${here.server.url}/`);
  await asked;
  expect(await page.locator("body").innerText()).toBe("");
  release();
  await page.getByRole("link", { name: "新对话" }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
  await menuOf(page, "工作目录")
    .or(page.getByRole("button", { name: /^工作目录/ }))
    .first()
    .waitFor();
});
