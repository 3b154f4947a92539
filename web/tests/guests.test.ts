// Guests of a page that is part of an application with users of its own.
import { Server } from "./server";
import { stage } from "./stage";

const { here, test } = stage(() => Server.mounted(true));

test("a guest of an application is told to sign in there, and no command that works only for its owner", async ({
  expect,
}) => {
  for (const [locale, heading, again, used] of [
    ["en-GB", "You are not signed in", "Try again", "A link is good once"],
    ["zh-CN", "您还没有登录", "重试", "链接只能使用一次"],
  ] as const) {
    const guest = await here.browser.newContext({ locale });
    const page = await guest.newPage();
    await page.goto(`${here.server.url}/`);
    await page.getByRole("heading", { name: heading }).waitFor();
    expect(await page.locator("main").innerText()).not.toContain("turnwire");
    // Once the application knows them, they are in.
    await page.setExtraHTTPHeaders({ "X-User": "ann" });
    await page.getByRole("button", { name: again }).click();
    await page.locator("nav.sidebar").waitFor();
    await page.setExtraHTTPHeaders({});
    await page.goto(`${here.server.url}/enter?link=used`);
    await page.getByRole("heading", { name: used }).waitFor();
    expect(await page.locator("main").innerText()).not.toContain("turnwire");
    await guest.close();
  }
});
