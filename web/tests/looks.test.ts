// Marks, what is shown while something loads or the agent thinks, and motion.
import { violations } from "./axe";
import { Person, recordCopies, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

test("an agent and a person have marks beside their messages, which are neither copied nor read aloud", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("think");
  await state(page, "Ready");
  await say(page, "think again");
  await page.locator(".row.said").nth(1).waitFor();
  await state(page, "Ready");
  const marks = page.locator(".by .initials");
  await expect.poll(() => marks.count()).toBe(2); // one for each answer
  expect(await marks.first().getAttribute("data-letters")).toBe("De");
  expect(await page.locator(".said > .initials.person").count()).toBe(2);
  expect(await page.locator(".scroller").innerText()).not.toContain("De\n");
  const isBeside = () =>
    page.evaluate(() => {
      const edge = (found: string) => document.querySelector(found)?.getBoundingClientRect();
      return (edge(".by .initials")?.right ?? 0) < (edge(".row.text .markdown")?.left ?? 0);
    });
  expect(await isBeside()).toBe(true);
  expect(await violations(page)).toEqual([]);
  // On a phone there is no room beside the text: the name is above it.
  await page.setViewportSize({ width: 375, height: 740 });
  await page.locator(".by-name").first().waitFor();
  expect(await page.locator(".said > .initials.person").first().isVisible()).toBe(false);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  expect(await violations(page)).toEqual([]);
});

test("while the agent works and nothing grows there is a sign, announced once", async ({ alone, expect }) => {
  const { page } = alone;
  await alone.quick("hello", 60); // nothing grows while the test looks
  await page.locator(".working").waitFor();
  expect(await page.locator(".announcer").innerText()).toBe("Working");
  expect(await page.locator(".working").getAttribute("aria-hidden")).toBe("true");
  await page.getByRole("button", { name: "Stop" }).click();
  await state(page, "Stopped");
  expect(await page.locator(".working").count()).toBe(0);
});

test("what loads slowly has a place, and what loads quickly does not flash", async ({ alone, expect }) => {
  const { page } = alone;
  const held: (() => void)[] = [];
  let isHeld = true;
  for (const address of ["**/api/inbox*", "**/api/conversations?*", "**/api/agents*"])
    await page.route(address, async (route) => {
      if (isHeld) await new Promise<void>((resolve) => held.push(resolve));
      await route.continue().catch(() => {});
    });
  await page.goto(`${here.server.url}/inbox`);
  const waits = page.locator(".skeleton");
  await expect.poll(() => waits.count()).toBeGreaterThan(3); // in the list and in the inbox
  const delays = await waits.evaluateAll((all) =>
    all.map((each) => Number.parseFloat(getComputedStyle(each).animationDelay)),
  );
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0.2);
  isHeld = false;
  for (const go of held) go();
  await page.getByRole("heading", { name: "Nothing is waiting for you" }).waitFor();
  await expect.poll(() => waits.count()).toBe(0);
});

test("with reduced motion nothing moves, wherever the page is", async ({ person, expect }) => {
  const { page } = person;
  const moving = () =>
    page.evaluate(() =>
      document
        .getAnimations()
        .filter(
          (each) => Number(each.effect?.getComputedTiming().duration) > 1 && each.playState === "running",
        )
        .map((each) => (each as CSSAnimation).animationName),
    );
  await person.quick("think, a long answer", 0.05);
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  expect(await moving()).toEqual([]);
  await page.keyboard.press("Control+k");
  await page.locator("dialog.palette").waitFor();
  expect(await moving()).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Stop" }).click();
  await state(page, "Stopped");
});

test("an empty conversation says what to try, and shows the keys", async ({ person, expect }) => {
  const { page } = person;
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", {});
  await page.goto(`${here.server.url}/c/${id}`);
  await page.locator(".empty .hints kbd", { hasText: "@" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("button", { name: "Think, then use a tool" }).click();
  await page.locator(".row.said", { hasText: "Think, then use a tool" }).waitFor();
  expect(
    await page.getByLabel("Message", { exact: true }).evaluate((each) => each === document.activeElement),
  ).toBe(true);
  await state(page, "Ready");
});

test("the palette copies the last answer, and says if it has no code", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("hello");
  await page.locator(".row.turn").waitFor();
  const copied = await recordCopies(page);
  const run = async (name: string) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox").fill(name);
    await page.keyboard.press("Enter");
  };
  await run("Copy the last answer");
  await expect.poll(copied).toContain("You said");
  await run("Copy the last code");
  await page.getByText("There is nothing to copy").waitFor();
});

test("[ and ] go through the messages of the person", async ({ alone, expect }) => {
  const { page } = alone;
  await alone.quick("a long answer");
  await state(page, "Ready");
  for (const words of ["a long answer, please", "one more long answer"]) {
    await say(page, words);
    await page.locator(".row.said", { hasText: words }).waitFor();
    await state(page, "Working");
    await state(page, "Ready");
  }
  await page.locator(".scroller").focus();
  const first = () =>
    page.evaluate(() => {
      const top = document.querySelector(".scroller")?.getBoundingClientRect().top ?? 0;
      const near = [...document.querySelectorAll(".row.said")].find(
        (each) => Math.abs(each.getBoundingClientRect().top - top) < 40,
      );
      return near?.querySelector(".bubble")?.textContent;
    });
  await page.keyboard.press("[");
  await expect.poll(first).toBe("one more long answer");
  await page.keyboard.press("[");
  await expect.poll(first).toBe("a long answer, please");
  await page.keyboard.press("]");
  await expect.poll(first).toBe("one more long answer");
});

for (const [width, height] of [
  [375, 740],
  [2560, 1300],
] as const)
  test(`at ${width} pixels the start page and a conversation fit`, async ({ expect }) => {
    const person = await Person.enter(here.browser, here.server, { viewport: { width, height } });
    const { page } = person;
    await page.locator(".agent-card").first().waitFor();
    const isWithin = () => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    expect(await isWithin()).toBe(true);
    await person.quick("use a tool");
    await state(page, "Ready");
    expect(await isWithin()).toBe(true);
    await person.leave();
  });

test("times look as in the region of the person", async ({ expect }) => {
  for (const [locale, time] of [
    ["en-GB", /^\d\d:\d\d$/],
    ["en-US", /^\d{1,2}:\d\d\s[AP]M$/],
  ] as const) {
    const person = await Person.enter(here.browser, here.server, { locale });
    await person.quick("hello");
    await person.page.locator(".row.turn time").waitFor();
    expect(await person.page.locator(".row.turn time").innerText()).toMatch(time);
    await person.leave();
  }
});
