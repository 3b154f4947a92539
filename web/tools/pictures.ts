// Takes the screenshots in docs/images: every view, in both themes, on a phone, in Chinese.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { openBrowser, Person, state } from "../tests/browser";
import { ROOT, Server } from "../tests/server";

const FOLDER = `${ROOT}docs/images/`;
const WORDS = "Think, use a tool, plan, send a helper, ask me a question, delete something";
/** The working directory. Its name reveals nothing about this machine. */
const WORK = join(tmpdir(), "greeter");
const VIEWPORT = { width: 1180, height: 800 };
let browser: Browser;
let server: Server;

beforeAll(async () => {
  for (const folder of [FOLDER, WORK]) mkdirSync(folder, { recursive: true });
  // With a credential the agent claude is ready; no test sends it a message.
  const start = Server.start({ ANTHROPIC_API_KEY: "none" }, WORK);
  [browser, server] = await Promise.all([openBrowser(), start]);
});
afterAll(async () => {
  await browser.close();
  await server.stop();
  rmSync(WORK, { recursive: true });
});

/** Whether the machine has a Chinese font. */
function hasChinese(): boolean {
  return spawnSync("fc-list", [":lang=zh"]).stdout?.length > 0;
}

async function walk(name: string, options: Parameters<typeof Person.enter>[2]): Promise<void> {
  const person = await Person.enter(browser, server, { viewport: VIEWPORT, ...options });
  const { page } = person;
  await page.emulateMedia({ reducedMotion: "reduce" });
  const take = async (view: string) => {
    await page.waitForTimeout(400); // until transitions have ended
    await page.screenshot({ path: `${FOLDER}${name}-${view}.png` });
  };
  await page.goto(`${server.url}/new`);
  await page.getByLabel("Agent").waitFor();
  await take("new");
  await person.quick(WORDS);
  await state(page, "Waiting for you");
  await take("question");
  await page.goto(`${server.url}/inbox`);
  await page.locator(".cards > li").first().waitFor();
  await take("inbox");
  await page.goBack();
  await page.getByLabel("Blue").check();
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByRole("region", { name: "Permission" }).waitFor();
  await take("permission");
  await page.getByRole("button", { name: "Allow", exact: false }).first().click();
  await state(page, "Ready");
  await page.locator(".scroller").evaluate((element) => element.scrollTo(0, 0));
  await page.locator(".thoughts summary").first().click();
  await take("talk");
  await page.goto(`${server.url}/search?q=colour`);
  await page.locator(".hits mark").first().waitFor();
  await take("search");
  await page.keyboard.press("?");
  await take("keys");
  await person.leave();
}

test("light", () => walk("light", { colorScheme: "light" }));
test("dark", () => walk("dark", { colorScheme: "dark" }));
test("a phone", () =>
  walk("phone", {
    colorScheme: "light",
    viewport: { width: 390, height: 800 },
    hasTouch: true,
    isMobile: true,
  }));

test("the inspector", async () => {
  const person = await Person.enter(browser, server, { colorScheme: "light", viewport: VIEWPORT });
  const { page } = person;
  await person.quick("use a tool");
  await state(page, "Ready");
  const card = page.locator(".row", { has: page.locator("details.tool.command") });
  await card.hover();
  await card.getByRole("button", { name: "Inspect" }).click();
  await page.getByRole("region", { name: "Frame" }).waitFor();
  await page.waitForTimeout(400);
  await page.screenshot({ path: `${FOLDER}light-layers.png` });
  await person.leave();
});

test.skipIf(!hasChinese())("Chinese", async () => {
  const person = await Person.enter(browser, server, {
    locale: "zh-CN",
    colorScheme: "light",
    viewport: VIEWPORT,
  });
  const { page } = person;
  await page.goto(`${server.url}/new`);
  await page.getByLabel("智能体").waitFor();
  await page.screenshot({ path: `${FOLDER}chinese-new.png` });
  await page.getByLabel("您想说什么？").fill("思考一下，使用工具，再问我一个问题");
  await page.getByRole("button", { name: "开始" }).click();
  await page.getByRole("region", { name: "提问" }).waitFor();
  await page.waitForTimeout(400);
  await page.screenshot({ path: `${FOLDER}chinese-question.png` });
  await person.leave();
});
