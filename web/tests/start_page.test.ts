// The start page: the composer itself, with agents, modes and a directory to choose.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { violations } from "./axe";
import { menuOf, Person, saidOn } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "turnwire-roots-")));
for (const name of ["garden/tools", "gate", "house"]) mkdirSync(join(folder, name), { recursive: true });
afterAll(() => rmSync(folder, { recursive: true }));
const { here, test } = stage(() =>
  Server.start({
    TURNWIRE_AGENTS: "web.tests.python.agents:Bold,claude",
    TURNWIRE_AGENT_OPTIONS: "{}",
    TURNWIRE_ROOTS: folder,
    ANTHROPIC_API_KEY: "",
    PYTHONPATH: ROOT,
  }),
);

test("an agent is chosen by its card; one that is not ready says what is missing", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/`);
  const agents = page.getByRole("radiogroup", { name: "Agent" });
  await expect.poll(() => agents.getByRole("radio", { name: "demo" }).isChecked()).toBe(true);
  await agents.getByText("Needs no key and no network.").waitFor();
  await page.getByText("Files of the working directory").waitFor();
  expect(await page.getByText("The agent's commands").count()).toBe(0); // the demo has none
  expect(await agents.getByRole("radio", { name: "claude" }).isDisabled()).toBe(true);
  await agents.getByText("What is missing").first().click();
  await agents.getByText("There is no credential for Claude.").waitFor();
  expect(await violations(page)).toEqual([]);
  // The model and the mode belong to the chosen agent, in plain words. With the keyboard alone.
  await menuOf(page, "Permissions").focus();
  await page.keyboard.press("Enter");
  await page.getByText("Reads and writes a plan. Changes nothing.").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect.poll(() => menuOf(page, "Permissions").getAttribute("data-value")).toBe("plan");
});

test("a directory is chosen below the roots, completed, and offered again", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  const open = page.getByRole("button", { name: /^Working directory: / });
  await open.click();
  const picker = page.getByRole("dialog", { name: "Working directory" });
  await picker.getByRole("button", { name: folder }).click();
  await picker.getByRole("button", { name: "garden" }).waitFor();
  await page.keyboard.type("gar");
  await expect.poll(() => picker.locator(".directories button").count()).toBe(1);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Tab");
  await picker.getByRole("button", { name: `${folder}/garden/tools` }).waitFor();
  await page.keyboard.press("Enter");
  await picker.waitFor({ state: "detached" });
  await page.getByLabel("What do you want to say?").fill("hello");
  await page.getByRole("button", { name: "Start" }).click();
  await page.waitForURL(/\/c\//);
  const id = new URL(page.url()).pathname.slice(3);
  const told = await here.server.ask<{ cwd: string }>("GET", `/api/conversations/${id}`);
  expect(told.cwd).toBe(`${folder}/garden`);

  await page.goto(`${here.server.url}/new`);
  await open.click();
  await picker.getByRole("list", { name: "Recent" }).getByRole("button", { name: "garden" }).waitFor();
  // A directory that is not open to agents is refused, with the reason.
  await picker.getByRole("textbox").fill("/etc/");
  await picker.getByRole("alert").getByText(folder).waitFor();
  expect(await picker.getByRole("button", { name: "Use this directory" }).isDisabled()).toBe(true);
});

test("on a phone the button to start is in sight, also below a long message", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, {
    viewport: { width: 375, height: 667 },
    hasTouch: true,
    isMobile: true,
  });
  const { page } = person;
  const start = page.getByRole("button", { name: "Start" });
  const bottom = async () => {
    const box = await start.boundingBox();
    return box ? box.y + box.height : Number.POSITIVE_INFINITY;
  };
  await expect.poll(bottom).toBeLessThanOrEqual(667);
  await page.getByLabel("What do you want to say?").fill("A long message.\n".repeat(60));
  await expect.poll(bottom).toBeLessThanOrEqual(667);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  await page.getByLabel("What do you want to say?").fill("hello");
  await start.tap();
  await page.waitForURL(/\/c\//);
  await person.leave();
});

test("the start page that has lost the server keeps the text, says so, and starts when it answers", async ({
  alone,
  expect,
}) => {
  const { page } = alone;
  await page.route("**/api/**", (route) => route.abort());
  await page.goto(`${here.server.url}/new`);
  const field = page.getByLabel("What do you want to say?");
  await field.fill("hello");
  await page.locator(".line-banner.shown", { hasText: "The server cannot be reached." }).waitFor();
  await page.getByRole("alert").getByText("The agents are shown as soon as").waitFor();
  await field.press("Enter");
  const starts = page.getByText("The conversation starts as soon as the server answers.");
  await starts.waitFor();
  // A message that is changed is not sent before it is complete.
  await field.fill("hello again");
  await starts.waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Start" }).click();
  await starts.waitFor();
  await page.unroute("**/api/**");
  await page.waitForURL(/\/c\//);
  await expect.poll(saidOn(page)).toEqual(["hello again"]);
});

test("the start page says why the server refuses to list its agents, and asks again when it is online", async ({
  alone,
  expect,
}) => {
  const { page } = alone;
  const asked: string[] = [];
  await page.route("**/api/agents", (route) => {
    asked.push(route.request().url());
    return route.fulfill({
      status: 503,
      json: { error: { code: "OVERLOADED", message: "Too much to do." } },
    });
  });
  await page.goto(`${here.server.url}/new`);
  await page.getByRole("alert").getByText("Too much to do.").waitFor();
  await page.evaluate(() => Object.defineProperty(document, "hidden", { get: () => true })); // it polls no more
  const before = asked.length;
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await expect.poll(() => asked.length).toBeGreaterThan(before);
  await page.unroute("**/api/agents");
  await page.evaluate(() => dispatchEvent(new Event("online")));
  await page.getByRole("radio", { name: "demo" }).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
});
