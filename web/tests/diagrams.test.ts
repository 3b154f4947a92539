// Mermaid diagrams are drawn in a sandboxed frame, and shown as pictures in which nothing runs.
import type { Locator, Page } from "playwright-core";
import { describe, expect as expects, test as plain } from "vitest";
import { TICK, withLoopLimit } from "../src/diagrams/loopLimit";
import { violations } from "./axe";
import { Person, recordCopies } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(async () => {
  const server = await Server.start();
  server.python("seed", "diagrams");
  server.python("seed", "tasks");
  return server;
});

const PROBLEM = ".diagram .note-line";
const open = (page: Page, name: string) => page.goto(`${here.server.url}/c/diagram-${name}`);

/** Returns the size and the colours of a picture. */
const pixelsOf = (picture: Locator) =>
  picture.evaluate(async (each: HTMLImageElement) => {
    await each.decode();
    const canvas = document.createElement("canvas");
    canvas.width = each.naturalWidth;
    canvas.height = each.naturalHeight;
    const context = canvas.getContext("2d") as CanvasRenderingContext2D;
    context.drawImage(each, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const colours = new Set<number>();
    for (let at = 0; at < data.length; at += 4)
      colours.add(((data[at] ?? 0) << 16) | ((data[at + 1] ?? 0) << 8) | (data[at + 2] ?? 0));
    const [red = 0, green = 0, blue = 0] = data;
    return { width: canvas.width, height: canvas.height, colours: colours.size, corner: [red, green, blue] };
  });

test("a flowchart and a sequence diagram are drawn, in a frame that is gone afterwards", async ({
  person,
  expect,
}) => {
  const { page } = person;
  for (const [name, alt] of [
    ["flow", "Diagram: flowchart-v2"],
    ["sequence", "Diagram: Greeting"],
  ] as const) {
    await open(page, name);
    const picture = page.getByRole("img", { name: alt, exact: true });
    await picture.waitFor();
    const drawn = await pixelsOf(picture);
    expect(drawn.width).toBeGreaterThan(150);
    expect(drawn.height).toBeGreaterThan(150);
    expect(drawn.colours).toBeGreaterThan(5);
    expect(await page.locator("iframe").count()).toBe(0);
    expect(await violations(page)).toEqual([]);
  }
});

test("the source is shown and copied by keyboard, and the diagram in full size", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await open(page, "flow");
  const copied = await recordCopies(page);
  const figure = page.locator("figure.diagram");
  const toggle = figure.getByRole("button", { name: "Show source" });
  await toggle.focus();
  await page.keyboard.press("Enter");
  await figure.locator("code", { hasText: "A[Start]-->B{Is it so?}" }).waitFor();
  expect(await figure.getByRole("img").count()).toBe(0);
  expect(await toggle.getAttribute("aria-pressed")).toBe("true");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect.poll(copied).toMatch(/^graph TD; A\[Start\]/);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Space");
  await figure.getByRole("img").waitFor();
  await figure.getByRole("button", { name: /show in full size$/ }).focus();
  await page.keyboard.press("Enter");
  const large = page.getByRole("dialog", { name: "Diagram" });
  await large.getByRole("img").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await large.waitFor({ state: "detached" });
});

test("a diagram follows the theme", async ({ person, expect }) => {
  const { page } = person;
  await open(page, "sequence");
  const picture = page.locator(".diagram img");
  await picture.waitFor();
  expect((await pixelsOf(picture)).corner).toEqual([255, 255, 255]);
  await page.emulateMedia({ colorScheme: "dark" });
  await expect.poll(async () => (await pixelsOf(picture)).corner).toEqual([31, 33, 32]);
  await page.emulateMedia({ colorScheme: "light" });
  await expect.poll(async () => (await pixelsOf(picture)).corner).toEqual([255, 255, 255]);
});

test("on a phone a wide diagram fits, and is scrolled in full size", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  await person.beKnown();
  const { page } = person;
  await open(page, "wide");
  await page.locator(".diagram img").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  const box = await page.locator(".diagram img").boundingBox();
  expect(box?.width).toBeLessThanOrEqual(375);
  await page.locator(".diagram button.picture").tap();
  const large = page.locator(".whole-diagram > div");
  await large.waitFor();
  await expect.poll(() => large.evaluate((each) => each.scrollWidth > each.clientWidth)).toBe(true);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(375);
  await person.leave();
});

test("a printed page has the diagram on its own background", async ({ person, expect }) => {
  const { page } = person;
  await open(page, "flow");
  const picture = page.locator(".diagram img");
  await picture.waitFor();
  await page.emulateMedia({ media: "print" });
  expect(await picture.isVisible()).toBe(true);
  expect((await pixelsOf(picture)).corner).toEqual([255, 255, 255]);
  await page.emulateMedia({ media: "screen" });
});

test("a diagram that cannot be drawn shows its source and one line", async ({ person, expect }) => {
  const { page } = person;
  await open(page, "unreadable");
  await page.locator(PROBLEM, { hasText: "This diagram cannot be read" }).waitFor();
  await page.locator(".diagram code", { hasText: "A[[[-->" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await open(page, "long");
  await page.locator(PROBLEM, { hasText: "too long to be drawn" }).waitFor({ state: "attached" });
  const code = page.locator(".diagram code");
  expect(await code.textContent()).not.toContain("A3399");
  await page.locator(".diagram").getByRole("button", { name: "Show all" }).click();
  await expect.poll(() => code.textContent()).toContain("A3399");
  await open(page, "edges");
  await page.locator(PROBLEM, { hasText: "more than 500 connections" }).waitFor({ state: "attached" });
});

test("without a diagram nothing of it is loaded, and one out of view is not drawn", async ({
  alone,
  expect,
}) => {
  const { page } = alone;
  const loaded: string[] = [];
  page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
  await page.goto(`${here.server.url}/c/tasks`);
  await page.getByText("What is left to do").waitFor();
  expect(loaded.filter((each) => /diagram/i.test(each))).toEqual([]);
  // A diagram above the view is not drawn before it is scrolled to.
  await open(page, "below");
  await page.getByText("The end.").waitFor();
  await page.waitForTimeout(500);
  expect(loaded.filter((each) => each.endsWith(".html"))).toEqual([]);
  await page.locator(".scroller").evaluate((each) => each.scrollTo(0, 0));
  await page.locator(".diagram img").waitFor();
  expect(loaded.filter((each) => each.endsWith(".html"))).toHaveLength(1);
});

describe("hostile sources", () => {
  test("run nothing, and reach no other server", async ({ expect }) => {
    const person = await Person.come(here.browser, here.server);
    await person.beKnown();
    const { page, context } = person;
    const reached: string[] = [];
    await context.route(
      (url) => url.protocol.startsWith("http") && url.origin !== here.server.url,
      (route) => {
        reached.push(route.request().url());
        return route.abort();
      },
    );
    const opened: string[] = [];
    context.on("page", (each) => opened.push(each.url()));
    page.on("dialog", (each) => void opened.push(each.message()));
    for (const name of ["script", "link", "call", "loose", "beacon", "picture"]) {
      await open(page, name);
      await page.locator(`.diagram img, ${PROBLEM}`).first().waitFor();
      const picture = page.locator(".diagram img");
      if (await picture.count()) {
        expect((await pixelsOf(picture)).width).toBeGreaterThan(10);
        await picture.click();
        await page.getByRole("dialog").getByRole("img").click();
        await page.keyboard.press("Escape");
      }
      expect(await page.evaluate(() => "broken" in window)).toBe(false);
      expect(page.url()).toBe(`${here.server.url}/c/diagram-${name}`);
    }
    expect({ reached, opened }).toEqual({ reached: [], opened: [] });
    await context.close(); // the browser has logged what the policy of the frame has blocked
  });

  test("do not hang the page", async ({ person, expect }) => {
    const { page } = person;
    for (const name of ["endless", "slow"]) {
      await open(page, name);
      await page.locator(`.diagram img, ${PROBLEM}`).waitFor({ state: "attached", timeout: 60_000 });
      expect(await page.locator("iframe").count()).toBe(0);
      await page.getByLabel("Message", { exact: true }).fill("The page is alive");
    }
    // The next one is drawn.
    await open(page, "flow");
    await page.locator(".diagram img").waitFor();
  });
});

describe("without a browser", () => {
  plain("every loop and function of the program stops at the time limit", () => {
    let calls = 0;
    const tick = () => {
      calls += 1;
      if (calls > 1000) throw new Error("late");
    };
    const run = (code: string, sum = {}) => {
      calls = 0;
      new Function(TICK, "sum", withLoopLimit(code))(tick, sum);
    };
    for (const endless of [
      "for(;;);",
      "for(;;)for(;;)x=1;var x",
      "while(1)try{throw 1}catch(e){}",
      "do{}while(true)",
      "do;while(true)",
      "if(1)while(1);else y()",
      "for(const x of function*(){for(;;)yield 1}())x;",
      "const f=()=>{f()};f()",
      "for(let i=0;i<9;i=0){try{for(;;);}catch(e){}}",
    ])
      expects(() => run(endless), endless).toThrow("late");
    const sum: { of?: number } = {};
    run("let s=0;for(const x of[1,2])s+=x;for(let i=0;i<3;i++)s+=i;sum.of=s", sum);
    expects(sum.of).toBe(6);
  });
});
