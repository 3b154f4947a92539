// The installed page: its manifest and icons, and what it shows while the server cannot be reached.
import { type TestContext, test } from "vitest";
import { violations } from "./axe";
import { openBrowser, Person, state } from "./browser";
import { Server } from "./server";

async function opened(
  onTestFinished: TestContext["onTestFinished"],
  start: () => Promise<Server> = () => Server.start(),
) {
  const [browser, server] = await Promise.all([openBrowser(), start()]);
  onTestFinished(async () => {
    await browser.close();
    await server.stop();
  });
  return { browser, server };
}

/** Waits until the worker is active. */
async function hasWorker({ page }: Person): Promise<void> {
  await page.evaluate(async () => {
    const { active } = await navigator.serviceWorker.ready;
    while (active?.state !== "activated")
      await new Promise((changed) => active?.addEventListener("statechange", changed, { once: true }));
  });
}

for (const [where, start] of [
  ["at the root", undefined],
  ["below a path", () => Server.mounted()],
] as const) {
  test(`${where}, a reload without the server shows the offline page, which returns by itself`, async ({
    expect,
    onTestFinished,
  }) => {
    const { browser, server } = await opened(onTestFinished, start);
    const person = await Person.enter(browser, server, { serviceWorkers: "allow" }, server.link);
    const { page } = person;
    await person.begin("hello");
    await page.locator(".row.turn").waitFor();
    await hasWorker(person);
    const address = page.url();

    await server.kill();
    await page.reload();
    await page.getByRole("heading", { name: "The server cannot be reached" }).waitFor();
    expect(await page.getByRole("heading").count()).toBe(1);
    await page.getByText("Trying again every two seconds").waitFor();
    expect(page.url()).toBe(address);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Try now" }).click(); // it stays
    await page
      .getByRole("status")
      .filter({ hasText: /^Still no answer. Tried at \d\d:\d\d:\d\d$/ })
      .waitFor();
    await page.evaluate(() => localStorage.setItem("turnwire:language", "zh"));
    await page.reload();
    await page.getByRole("heading", { name: "无法连接到服务器" }).waitFor();
    expect(await page.title()).toBe("无法连接到服务器 · Turnwire");
    await page.evaluate(() => localStorage.removeItem("turnwire:language"));
    await person.context.setOffline(true);
    await page.getByRole("heading", { name: "You are offline" }).waitFor();
    await person.context.setOffline(false);

    await server.restart();
    await page.locator(".row.said", { hasText: "hello" }).waitFor();
    await state(page, "Ready");
    expect(page.url()).toBe(address);

    // The worker keeps its own page and no answer of the server.
    const kept = await page.evaluate(async () => {
      const all = [];
      for (const name of await caches.keys())
        for (const { url } of await (await caches.open(name)).keys()) all.push(url);
      return all.map((url) => url.slice(document.baseURI.length).replace(/-[\w-]{8}\./, "."));
    });
    expect(kept.sort()).toEqual(["assets/offline.css", "assets/offline.js", "icon.svg", "offline"]);
    await person.leave();
  });
}

test("a new build replaces the worker and what it keeps, at the next visit", async ({
  expect,
  onTestFinished,
}) => {
  const { browser, server } = await opened(onTestFinished);
  const person = await Person.enter(browser, server, { serviceWorkers: "allow" });
  const { page } = person;
  await hasWorker(person);
  const [now] = await page.evaluate(() => caches.keys());
  // What a build of before would have left.
  await page.evaluate(async () => {
    await caches.open("turnwire:offline:/:?index-before.js");
    await caches.open("of another program");
    for (const each of await navigator.serviceWorker.getRegistrations()) await each.unregister();
  });
  await page.reload();
  await hasWorker(person);
  await expect.poll(() => page.evaluate(() => caches.keys())).toEqual([now, "of another program"]);
  await person.leave();
});

test("the browser finds nothing that keeps it from installing the page", async ({
  expect,
  onTestFinished,
}) => {
  const { browser, server } = await opened(onTestFinished);
  const person = await Person.enter(browser, server, { serviceWorkers: "allow" });
  const { page } = person;
  await hasWorker(person);
  const session = await person.context.newCDPSession(page);
  const { errors, url, manifest } = await session.send("Page.getAppManifest");
  expect(errors).toEqual([]);
  expect(url).toBe(`${server.url}/manifest.webmanifest`);
  expect((manifest as { scope?: string }).scope).toBe(`${server.url}/`);
  const { installabilityErrors } = await session.send("Page.getInstallabilityErrors");
  // A window without stored data cannot install anything.
  expect(installabilityErrors.map((each) => each.errorId).filter((each) => each !== "in-incognito")).toEqual(
    [],
  );
  // A chosen theme also colours the bars of the browser.
  await page.emulateMedia({ colorScheme: "light" });
  const colours = () =>
    page
      .locator('meta[name="theme-color"]')
      .evaluateAll((all) => all.map((each) => each.getAttribute("content")));
  expect(await colours()).toEqual(["#fbfaf8", "#171817"]);
  await page.keyboard.press("Escape"); // leaves the field
  await page.keyboard.press("t");
  await expect.poll(colours).toEqual(["#171817", "#171817"]);
  await person.leave();
});
