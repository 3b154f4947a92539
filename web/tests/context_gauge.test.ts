// The gauge in the composer that shows how full the agent's context is.
import type { Page } from "playwright-core";
import { violations } from "./axe";
import { Person, say, state } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const { here, test } = stage(() =>
  Server.start({ TURNWIRE_AGENTS: "web.tests.python.agents:Filling,demo", PYTHONPATH: ROOT }),
);

const gauge = (page: Page) => page.getByRole("button", { name: /context is .* full/ });
const label = (page: Page) => () => gauge(page).getAttribute("aria-label");

/** Counts how often the page asks the agent. */
function countAsked(page: Page): () => number {
  let asked = 0;
  page.on("websocket", (socket) =>
    socket.on("framesent", ({ payload }) => {
      if (String(payload).includes('"context_usage"')) asked += 1;
    }),
  );
  return () => asked;
}

/** Opens an empty conversation, and waits until the gauge has seen that no turn has ended yet. */
async function open(person: Person, agent = "filling"): Promise<string> {
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { agent });
  await person.page.goto(`${here.server.url}/c/${id}`);
  await state(person.page, "Ready");
  return id;
}

/** Sends a message, and waits for the end of its turn. */
async function use(page: Page, tokens: number, turns: number): Promise<void> {
  await say(page, String(tokens));
  await page.waitForFunction((n) => document.querySelectorAll(".row.turn").length === n, turns);
  await state(page, "Ready");
}

test("the gauge shows how full the context is: in calm, from 70 percent with a number, from 90 with a sign", async ({
  alone,
  expect,
}) => {
  const { page } = alone;
  const asked = countAsked(page);
  await open(alone);
  expect(await gauge(page).count()).toBe(0); // it is not known yet
  await use(page, 31_000, 1);
  await expect.poll(label(page)).toBe("The agent's context is 16% full");
  expect(await gauge(page).getAttribute("title")).toContain("31,000 of 200,000 tokens.");
  expect(await gauge(page).innerText()).toBe("");
  expect(await violations(page, ["light", "dark"], [".timeline"])).toEqual([]);
  await use(page, 141_000, 2);
  await expect.poll(label(page)).toBe("The agent's context is 71% full");
  expect(await gauge(page).innerText()).toBe("71%");
  expect(await gauge(page).locator("path").count()).toBe(0);
  expect(await violations(page, ["light", "dark"], [".timeline"])).toEqual([]);
  await use(page, 186_000, 3);
  await expect.poll(label(page)).toBe("The agent's context is 93% full");
  expect(await gauge(page).locator("path").count()).toBe(1);
  expect(await violations(page, ["light", "dark"], [".timeline"])).toEqual([]);
  expect(asked()).toBe(3); // once for each turn
});

test("the gauge is there after a reload without asking the agent, and opens its panel", async ({
  alone,
  expect,
}) => {
  const { page } = alone;
  await open(alone);
  await use(page, 62_000, 1);
  await expect.poll(label(page)).toBe("The agent's context is 31% full");
  const asked = countAsked(page);
  await page.reload();
  await state(page, "Ready");
  await gauge(page).waitFor();
  expect(asked()).toBe(0);
  await gauge(page).focus();
  await page.keyboard.press("Enter");
  const panel = page.getByRole("dialog");
  await panel.getByText("62.0k of 200k tokens").waitFor();
  expect(asked()).toBe(1);
  await page.keyboard.press("Escape");
  await panel.waitFor({ state: "detached" });
  expect(await gauge(page).evaluate((each) => each === document.activeElement)).toBe(true);
});

test("a hidden tab does not ask, and asks once when it is visible again", async ({ alone, expect }) => {
  const { page } = alone;
  const asked = countAsked(page);
  await page.addInitScript(() => {
    Object.defineProperty(document, "hidden", { get: () => Boolean(Reflect.get(window, "isHidden")) });
  });
  await open(alone);
  await use(page, 20_000, 1);
  await expect.poll(label(page)).toBe("The agent's context is 10% full");
  await page.evaluate(() => Reflect.set(window, "isHidden", true));
  await use(page, 40_000, 2);
  await use(page, 60_000, 3);
  expect(asked()).toBe(1);
  expect(await label(page)()).toBe("The agent's context is 10% full");
  await page.evaluate(() => {
    Reflect.set(window, "isHidden", false);
    document.dispatchEvent(new Event("visibilitychange"));
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await expect.poll(label(page)).toBe("The agent's context is 30% full");
  expect(asked()).toBe(2);
});

test("an agent that does not tell its context has no gauge, and is not asked", async ({ alone, expect }) => {
  const { page } = alone;
  const asked = countAsked(page);
  await open(alone, "demo");
  await use(page, 31_000, 1);
  expect(await gauge(page).count()).toBe(0);
  expect(asked()).toBe(0);
});

test("a finger opens the agent's panel on a phone by the gauge", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  await person.beKnown();
  const { page } = person;
  await open(person);
  await use(page, 150_000, 1);
  await gauge(page).tap();
  await page.getByRole("dialog").getByText("150k of 200k tokens").waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  await person.leave();
});

test("deleting a conversation deletes what the browser knows of its context", async ({ alone, expect }) => {
  const { page } = alone;
  const id = await open(alone);
  await use(page, 31_000, 1);
  const stored = () => page.evaluate((id) => localStorage.getItem(`turnwire:context:${id}`), id);
  await expect.poll(stored).toContain("31000");
  await page.locator(".talk-header").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.locator(".notice").getByRole("button", { name: "Dismiss" }).click();
  await expect.poll(stored).toBe(null);
});
