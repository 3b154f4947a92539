// Every view passes the accessibility checks of axe: in both themes and languages, on a desk and on a phone.
import { violations, violationsEverywhere } from "./axe";
import { Person, pressIn, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

test("every view passes axe, in both themes and languages, on a desk and on a phone", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, { colorScheme: "light" });
  const { page } = person;
  const faults: Record<string, string[]> = {};
  const look = async (view: string, seen = page, isFixed = false) => {
    const found = await violationsEverywhere(seen, isFixed);
    if (found.length) faults[view] = found;
  };
  await look("home");
  await page.goto(`${here.server.url}/new`);
  await page.getByLabel("Agent").waitFor();
  await look("new");
  await person.quick("think, use a tool, make a plan, send a helper, ask me a question, delete something");
  await state(page, "Waiting for you");
  await look("question");
  await page.goto(`${here.server.url}/inbox`);
  await page.locator(".cards > li").first().waitFor();
  await look("inbox");
  await page.goBack();
  await page.getByLabel("Blue").check();
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByRole("region", { name: "Permission" }).waitFor();
  await say(page, "hello");
  await page.getByRole("region", { name: "Queued messages" }).waitFor();
  await look("permission and queue");
  await page.getByRole("button", { name: "Allow", exact: false }).first().click();
  await state(page, "Ready");
  await page.locator(".scroller").evaluate((element) => element.scrollTo(0, 0));
  await page.locator(".thoughts summary").first().click();
  await look("a talk");
  await pressIn(page.locator(".row.thinking"), "Inspect");
  await page.getByRole("region", { name: "Frame" }).waitFor();
  await look("the layers");
  await page.keyboard.press("Escape");
  await say(page, "fail");
  await state(page, "Failed");
  await look("a failure");
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await look("a menu", page, true);
  await page.keyboard.press("Escape");
  await person.quick("background", 0.1);
  await page.getByRole("button", { name: "Stop: Search the whole archive" }).waitFor();
  await look("work in the background");
  await page.goto(`${here.server.url}/search?q=hello`);
  await page.locator(".hits mark").first().waitFor();
  await look("search");
  await page.keyboard.press("?");
  await look("keys");
  await page.keyboard.press("Escape");
  await page.goto(`${here.server.url}/search?q=absent`);
  await page.getByRole("heading", { name: "Nothing found" }).waitFor();
  await look("nothing found");
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { title: "Old" });
  await here.server.ask("PATCH", `/api/conversations/${id}`, { archived: true });
  await page.goto(`${here.server.url}/c/${id}`);
  await page.getByRole("heading", { name: "This conversation is archived" }).waitFor();
  await look("an archived one");
  await page.goto(`${here.server.url}/c/none`);
  await page.getByRole("heading", { name: "Conversation not found" }).waitFor();
  await look("nothing here");
  const stranger = await here.browser.newContext();
  const entry = await stranger.newPage();
  await entry.goto(here.server.url);
  await entry.getByRole("heading", { name: "You are not signed in" }).waitFor();
  await look("who is there", entry);
  await stranger.close();
  await page.goBack();
  await page.setViewportSize({ width: 390, height: 800 });
  await look("a phone");
  await page.getByRole("button", { name: "Conversations" }).first().click();
  await look("a phone's list", page, true);
  expect(faults).toEqual({});
  await person.leave();
});

test("a running conversation on a phone passes axe, and nothing is wider than the screen", async ({
  expect,
}) => {
  const person = await Person.enter(here.browser, here.server, {
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
    colorScheme: "light",
  });
  const { page } = person;
  const faults: Record<string, unknown> = {};
  const look = async (view: string) => {
    const found = await violations(page);
    if (found.length) faults[view] = found;
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    if (width > 360) faults[`${view}: width`] = width;
  };
  await person.quick("a long answer", 0.05);
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  await look("an answer that grows");
  await page.getByRole("button", { name: "Stop" }).tap();
  await state(page, "Stopped");
  await say(page, "use a tool, make a plan, ask me a question, delete something");
  await page.getByRole("region", { name: "Question" }).waitFor();
  await look("a question");
  await page.getByLabel("Blue").check();
  await page.getByRole("button", { name: "Answer", exact: true }).tap();
  await page.getByRole("region", { name: "Permission" }).waitFor();
  await look("a permission");
  await page.getByRole("button", { name: "Allow", exact: false }).first().tap();
  await state(page, "Ready");
  await look("a talk");
  expect(faults).toEqual({});
  await person.leave();
});

test("on a phone nothing is wider than the screen", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, {
    viewport: { width: 360, height: 740 },
    hasTouch: true,
    isMobile: true,
  });
  const { page } = person;
  await person.quick("use a tool, make a plan, delete something");
  await page.getByRole("region", { name: "Permission" }).waitFor();
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(360);
  await page.getByRole("button", { name: "Allow", exact: false }).first().tap();
  await state(page, "Ready");
  await page.getByRole("button", { name: "Conversations" }).tap();
  const archived = await page.getByRole("button", { name: "Archived" }).boundingBox();
  expect(archived?.height).toBeGreaterThanOrEqual(40);
  await page.getByRole("navigation").getByRole("link", { name: "Inbox" }).tap();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await person.leave();
});

test("a Chinese browser shows the page in Chinese, and the person can choose English", async ({ expect }) => {
  const person = await Person.enter(here.browser, here.server, { locale: "zh-CN" });
  const { page } = person;
  await page.getByRole("heading", { name: "与智能体对话" }).waitFor();
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh-CN");
  await page.goto(`${here.server.url}/new`);
  await page.getByLabel("您想说什么？").fill("问我一个问题");
  await page.getByRole("button", { name: "开始" }).click();
  await page.getByRole("region", { name: "提问" }).waitFor();
  await page.getByRole("button", { name: "偏好设置" }).click();
  await page.getByRole("menuitemradio", { name: "English" }).click();
  await page.getByRole("region", { name: "Question" }).waitFor();
  await person.leave();
});
