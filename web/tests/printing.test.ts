// A printed conversation: all of its messages, as a document.
import { say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

test("all messages of a long conversation are printed, and the page is then as it was", async ({
  alone,
  expect,
}) => {
  const { page } = alone;
  here.server.python("seed", "long", "400");
  await page.goto(`${here.server.url}/c/long`);
  await state(page, "Ready");
  await page.locator(".row.turn").last().waitFor();
  // What the browser would print, at the moment at which it is asked to.
  await page.evaluate(() => {
    window.print = () => {
      dispatchEvent(new Event("beforeprint"));
      const count = document.querySelectorAll(".row.said").length;
      Object.assign(window, { printed: count });
    };
  });
  const few = await page.locator(".row.said").count();
  const place = () => page.locator(".scroller").evaluate((each) => each.scrollHeight - each.scrollTop);
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Print" }).click();
  const printed = () => page.evaluate(() => (window as { printed?: number }).printed ?? 0);
  await expect.poll(printed).toBeGreaterThan(few);
  expect(await page.locator(".row.said").count()).toBe(await printed());
  expect(await page.locator(".older").count()).toBe(0); // everything is loaded
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await expect.poll(() => page.locator(".row.said").count()).toBeLessThan(40);
  await expect.poll(place).toBeLessThan(900); // still at the end
});

test("a printed page is black on white, has a title and addresses, and no controls", async ({
  alone,
  expect,
}) => {
  const { page } = alone;
  await page.emulateMedia({ colorScheme: "dark" });
  await alone.quick("write markdown, think, make a plan, use a tool");
  await page.locator(".row.turn").waitFor();
  await say(page, "hello");
  await page.locator(".row.turn").nth(1).waitFor();
  await page.evaluate(() => {
    localStorage.setItem("turnwire:theme", "dark");
    dispatchEvent(new Event("storage"));
    dispatchEvent(new Event("beforeprint"));
  });
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  const title = page.locator(".print-title");
  await title.waitFor();
  expect(await title.innerText()).toMatch(/write markdown, think, make a plan, use a tool\n+demo · .*20\d\d/);
  const paper = () =>
    page.evaluate(() => {
      const { color, backgroundColor } = getComputedStyle(document.documentElement);
      return [color, backgroundColor];
    });
  await expect.poll(paper).toEqual(["rgb(0, 0, 0)", "rgb(255, 255, 255)"]);
  for (const hidden of [
    ".sidebar",
    ".dock",
    ".talk-header",
    ".row .buttons-of",
    ".scroller button",
    ".thoughts summary .icon",
    ".earlier-plans",
  ])
    expect(await page.locator(hidden).filter({ visible: true }).count(), hidden).toBe(0);
  // The rows follow each other, and the document is as high as they are.
  const [rows, height] = await page.evaluate(() => {
    const boxes = [...document.querySelectorAll(".place")].map((each) => each.getBoundingClientRect());
    const isInOrder = boxes.every((each, at) => !at || each.top >= (boxes[at - 1]?.bottom ?? 0) - 1);
    return [isInOrder, document.documentElement.scrollHeight >= Math.floor(boxes.at(-1)?.bottom ?? 0)];
  });
  expect([rows, height]).toEqual([true, true]);
  expect((await page.pdf({ format: "A4" })).subarray(0, 4).toString()).toBe("%PDF");
  await page.emulateMedia({ media: "screen" });
});
