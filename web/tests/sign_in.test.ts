// How a browser signs in with a link, and which addresses the page accepts.
import { state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

test("a user signed in by a link stays signed in, even if an earlier refusal arrives late", async () => {
  const { browser, server } = here;
  const guest = await browser.newContext();
  const page = await guest.newPage();
  const heading = page.getByRole("heading", { name: "Talk to an agent" });
  let isFirst = true;
  const late = new Promise<void>((done) => {
    void page.route("**/api/conversations?*", async (route) => {
      if (!isFirst) return route.continue();
      isFirst = false;
      const refused = await route.fetch();
      await heading.waitFor();
      await route.fulfill({ response: refused });
      done();
    });
  });
  await page.goto(server.newLink());
  await late;
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn))));
  await page.getByLabel("What do you want to say?").fill("hello");
  await guest.close();
});

test("a link signs a browser in once, and leaves no secret in it", async ({ expect }) => {
  const { browser, server } = here;
  const link = server.newLink();
  const other = await browser.newContext();
  const page = await other.newPage();
  await page.goto(link);
  await page.getByRole("heading", { name: "Talk to an agent" }).waitFor();
  expect(page.url()).toBe(`${server.url}/`);
  // The page key is useless without the cookie, and no script can read the cookie.
  const found = await page.evaluate(() => ({ ...localStorage, ...sessionStorage }));
  const { "turnwire:shown": _, ...kept } = found; // which conversations were shown
  expect(Object.keys(kept)).toEqual(["turnwire:page:/"]);
  expect(await page.evaluate(() => document.cookie)).toBe("");
  const key = { "X-Turnwire-Page": found["turnwire:page:/"] as string };
  const cookie = (await other.cookies()).map((each) => `${each.name}=${each.value}`).join("; ");
  for (const half of [key, { Cookie: cookie }])
    expect((await fetch(`${server.url}/api/agents`, { headers: half })).status).toBe(401);
  const both = { ...key, Cookie: cookie };
  expect((await fetch(`${server.url}/api/agents`, { headers: both })).status).toBe(200);
  await page.goto(link); // a signed-in browser keeps its session
  await page.getByRole("heading", { name: "Talk to an agent" }).waitFor();
  const second = await other.newPage(); // another tab, which is then reloaded
  await second.goto(`${server.url}/inbox`);
  await second.reload();
  await second.locator("nav.sidebar").waitFor();
  await page.evaluate(() => localStorage.clear()); // a cookie without a page key
  await page.goto(server.url);
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  await page.getByText("turnwire token link").waitFor();
  await other.clearCookies();
  await page.goto(link);
  await page.getByText("The link was used before").waitFor();
  await page.getByText("turnwire token link").waitFor();
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(await background()).toBe("rgb(251, 250, 248)"); // the page has its usual style
  await other.close();
});

test("a user who is not signed in is told how to sign in", async ({ expect }) => {
  const { browser, server } = here;
  const stranger = await browser.newContext();
  const page = await stranger.newPage();
  await page.goto(`${server.url}/inbox`);
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  await page.getByText("turnwire token link").waitFor();
  // The page says it once: there is no notice with an error code.
  const refused = page.waitForResponse(/api\/agents/);
  await page.goto(server.url);
  await (await refused).finished();
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  expect(await page.locator(".notice").count()).toBe(0);
  await stranger.close();
});

test("an invalid address shows that the conversation was not found", async ({ person }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/%E0%A4%A`);
  await page.getByRole("heading", { name: "Conversation not found" }).waitFor();
  await page.getByRole("link", { name: "New conversation" }).click();
  await page.getByLabel("What do you want to say?").waitFor();
});

test("parameters in the page's address never connect it to another server", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("hello");
  await state(page, "Ready");
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("websocket", (socket) => asked.push(socket.url()));
  const other = "elsewhere.example";
  const names = ["server", "url", "gatewayUrl", "gateway", "host", "api", "base", "ws", "endpoint", "token"];
  const query = names.map((name) => `${name}=${encodeURIComponent(`wss://${other}/x`)}`).join("&");
  for (const path of ["/", `/c/${id}`, "/inbox", "/new"]) {
    await page.goto(`${here.server.url}${path}?${query}#${query}`);
    await page.locator("nav.sidebar").waitFor();
  }
  await page.goto(`${here.server.url}/c/${id}?${query}`);
  await state(page, "Ready");
  const host = new URL(here.server.url).host;
  expect(asked.some((each) => each.startsWith("ws"))).toBe(true);
  expect(asked.filter((each) => new URL(each).host !== host)).toEqual([]);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(other);
});
