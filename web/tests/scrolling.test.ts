// The list of messages follows its end until a person scrolls up.
import { say, state } from "./browser";
import { stage } from "./scene";

const { test } = stage();

test("scrolling up a little during an answer keeps the position", async ({ person, expect }) => {
  const { page } = person;
  await page.setViewportSize({ width: 1280, height: 480 });
  await person.quick("a long answer", 0.04);
  const left = () =>
    page.locator(".scroller").evaluate((each) => each.scrollHeight - each.clientHeight - each.scrollTop);
  await expect.poll(() => page.locator(".scroller").evaluate((each) => each.scrollTop)).toBeGreaterThan(50);
  await page.locator(".timeline").hover();
  for (let time = 0; time < 5; time += 1) {
    await page.mouse.wheel(0, -25);
    await page.getByRole("button", { name: "Go to the newest message" }).click();
    await expect.poll(left).toBeLessThan(3);
    await page.locator(".timeline").hover();
  }
  await page.getByRole("button", { name: "Stop" }).click();
});

test("an element opened at the end keeps its position, and the end stays in view afterwards", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.setViewportSize({ width: 1280, height: 480 });
  await person.quick("use a tool, think");
  await state(page, "Ready");
  const thoughts = page.locator(".thoughts summary");
  await page.locator(".row.turn").waitFor();
  await thoughts.hover(); // waits until it stands still
  const top = async () => Math.round((await thoughts.boundingBox())?.y ?? -1);
  const before = await top();
  await thoughts.click();
  await page.locator(".thoughts[open]").waitFor();
  await expect.poll(top).toBe(before);
  await thoughts.click();
  await page.locator(".thoughts:not([open])").waitFor();

  // Zooming, or scrolling sideways, does not count as scrolling up.
  const scroller = page.locator(".scroller");
  const left = () => scroller.evaluate((each) => each.scrollHeight - each.clientHeight - each.scrollTop);
  await say(page, "a long answer");
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  for (const how of [
    { deltaY: -80, ctrlKey: true },
    { deltaY: -1, deltaX: 40 },
  ])
    await scroller.dispatchEvent("wheel", { bubbles: true, ...how });
  await state(page, "Ready");
  await expect.poll(left).toBeLessThan(3);
});
