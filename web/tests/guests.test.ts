// Users who are not signed in, on a page that is part of an application with its own users.

import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(() => Server.mounted(true));

test("the page of an application asks guests to sign in there, and shows no server command", async ({
  expect,
}) => {
  for (const [locale, heading, again, used] of [
    ["en-GB", "You are not signed in", "Try again", "This link does not work any more"],
    ["zh-CN", "您还没有登录", "重试", "此链接已失效"],
  ] as const) {
    const guest = await here.browser.newContext({ locale });
    const page = await guest.newPage();
    // A guest is sent to the application; one who comes back without access is not sent again.
    await page.goto(`${here.server.url}/`);
    await page.getByText("Sign in here").waitFor();
    await page.goto(`${here.server.url}/`);
    await page.getByRole("heading", { name: heading }).waitFor();
    const login = page.locator("a.button.primary");
    expect(new URL((await login.getAttribute("href")) ?? "", page.url()).pathname).toBe("/login");
    expect(await page.locator("main").innerText()).not.toContain("turnwire");
    // After signing in to the application, they see the page.
    await page.setExtraHTTPHeaders({ "X-User": "ann" });
    await page.evaluate((name) => {
      // At once: the page also looks by itself, and removes the button.
      [...document.querySelectorAll("button")].find((each) => each.textContent === name)?.click();
    }, again);
    await page.locator("nav.sidebar").waitFor();
    await page.setExtraHTTPHeaders({});
    await page.goto(`${here.server.url}/enter?link=used`);
    await page.getByRole("heading", { name: used }).waitFor();
    expect(await page.locator("main").innerText()).not.toContain("turnwire");
    await guest.close();
  }
});
