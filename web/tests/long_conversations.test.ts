// Conversations with ten thousand messages, and a hostile transcript.
import { Person, saidOn, say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(async () => {
  const server = await Server.start();
  server.python("seed", "long", "10000");
  server.python("seed", "hostile");
  server.python("seed", "classes");
  server.python("seed", "many", "560");
  return server;
});

test("ten thousand messages: the newest are shown first, and scrolling reaches all, in order", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/long`);
  await page.locator(".row.said", { hasText: "Question 2500" }).waitFor();
  const { most, isInOrder } = await page.evaluate(async () => {
    const scroller = document.querySelector(".scroller") as HTMLElement;
    let most = 0;
    let isInOrder = true;
    let first = 2500;
    for (let frames = 0; first > 1; frames += 1) {
      if (frames > 20_000) throw new Error(`Question ${first} is the oldest that is shown`);
      scroller.scrollBy(0, -scroller.clientHeight * 8);
      await new Promise(requestAnimationFrame);
      const shown = [...document.querySelectorAll(".row.said .bubble")].map((row) =>
        Number(/\d+/.exec(row.textContent ?? "")?.[0]),
      );
      most = Math.max(most, document.querySelectorAll(".row").length);
      isInOrder &&= shown.every((number, at) => at === 0 || number === (shown[at - 1] ?? 0) + 1);
      first = Math.min(first, ...shown);
    }
    return { most, isInOrder };
  });
  expect(most).toBeLessThanOrEqual(200);
  expect(isInOrder).toBe(true);
  const beginning = page.locator(".row.said .bubble", { hasText: /^Question 1$/ });
  const isShown = async () => {
    await page.locator(".scroller").evaluate((element) => element.scrollTo(0, 0));
    return beginning.isVisible();
  };
  await expect.poll(isShown).toBe(true);
});

test("the list can be loaded to the oldest conversation, and shows each directory", async ({
  person,
  expect,
}) => {
  const { page } = person;
  // It is not in the loaded list, but the page knows its directory.
  await page.goto(`${here.server.url}/c/many-0`);
  await page.locator('.talk-header .path[title="/home/ann/birds/wings"]').waitFor();
  const entries = page.locator("nav .list .entry");
  const more = page.getByRole("button", { name: "Show more" });
  for (let shown = 100; shown <= 600; shown += 50) {
    await more.click();
    await expect.poll(() => entries.count()).toBeGreaterThanOrEqual(Math.min(shown, 560));
  }
  const oldest = entries.filter({ hasText: /^\D*Talk 1\D/ });
  await oldest.first().waitFor({ state: "attached" });
  expect(await entries.count()).toBeGreaterThanOrEqual(560);
  expect(await oldest.locator('.path[title="/home/ann/birds/wings"]').textContent()).toBe("…/birds/wings");
});

test("a search finds an old message, and opens the conversation at it", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/long?at=8001`);
  const found = page.locator(".sought .row.said", { hasText: "Question 2001" });
  await found.waitFor();
  // What follows the message is visible: the message is near the top.
  const below = async () => {
    const [row, room] = await Promise.all([found.boundingBox(), page.locator(".scroller").boundingBox()]);
    return row && room ? Math.round(row.y - room.y) : -1;
  };
  await expect.poll(below).toBeGreaterThan(30);
  expect(await below()).toBeLessThan(150);
  // The result is in the card of its call.
  await page.goto(`${here.server.url}/c/long?at=8004`);
  await page.locator(".sought details.tool.command", { hasText: "echo 2001" }).waitFor();
});

test("a search result is shown even if its entry is loaded later", async ({ alone: person }) => {
  const { page } = person;
  let release: (() => void) | undefined;
  const isSeen = new Promise<void>((done) => {
    release = done;
  });
  let count = 0;
  await page.routeWebSocket(/conversations\/long/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage(async (message) => {
      count += 1;
      if (count > 40) await isSeen;
      socket.send(message);
    });
  });
  await page.goto(`${here.server.url}/c/long?at=9997`);
  await page.locator(".row.said").first().waitFor();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  release?.();
  await page.locator(".sought .row.said", { hasText: "Question 2500" }).waitFor();
});

test("sending a message leaves the search result", async ({ person, expect }) => {
  const { page } = person;
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", {});
  await page.goto(`${here.server.url}/c/${id}?at=1`);
  await say(page, "hello");
  await state(page, "Ready");
  await expect.poll(() => new URL(page.url()).search).toBe("");
  await expect.poll(saidOn(page)).toEqual(["hello"]);
});

test("measuring the rows of the list keeps the newest message in view", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/long`);
  await page.locator(".row.said", { hasText: "Question 2500" }).waitFor();
  const scroller = page.locator(".scroller");
  const left = () =>
    scroller.evaluate((each) => each.scrollHeight - each.clientHeight - Math.ceil(each.scrollTop));
  await expect.poll(left).toBeLessThanOrEqual(2);
  // Simulates rows that turn out larger than estimated: the scroll position is lost before the page notices.
  await scroller.evaluate((each) => {
    const rows = each.firstElementChild as HTMLElement;
    const height = rows.offsetHeight;
    rows.style.height = `${height / 2}px`;
    void each.scrollTop; // forces a layout
    rows.style.height = `${height + 500}px`;
  });
  await expect.poll(left).toBeLessThanOrEqual(2);
  expect(await page.getByRole("button", { name: "Go to the newest message" }).count()).toBe(0);
});

test("a hostile transcript executes nothing", async ({ person, expect }) => {
  const { page } = person;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const opened: string[] = [];
  page.context().on("page", (other) => opened.push(other.url()));
  await page.goto(`${here.server.url}/c/hostile`);
  await page.locator(".row").first().waitFor();
  // The structured output of the turn is shown as raw data.
  await page.locator(".structured", { hasText: "Structured output" }).getByText('"red"').waitFor();
  const scroller = page.locator(".scroller");
  for (let at = 0; at < 400; at += 1) {
    const isTop = await scroller.evaluate((element) => {
      element.scrollBy(0, -element.clientHeight);
      for (const summary of element.querySelectorAll<HTMLElement>(".thoughts:not([open]) summary"))
        summary.click();
      return element.scrollTop <= 0;
    });
    await page.evaluate(() => new Promise(requestAnimationFrame));
    if (isTop) break;
  }
  await page.locator(".row.said").first().getByText("<script>window.broken = 1</script>").waitFor();
  expect(await page.locator(".broken").count()).toBe(0);
  expect(await page.evaluate(() => "broken" in window)).toBe(false);
  expect(asked.filter((url) => !url.startsWith(here.server.url) && !url.startsWith("blob:"))).toEqual([]);
  expect(opened).toEqual([]);
  expect(
    await page.locator("main script, main iframe, main svg[onload], main style, main img[src^=http]").count(),
  ).toBe(0);
  expect(
    await page.locator("main a[href^=javascript], main a[href^=data], main a[href^=vbscript]").count(),
  ).toBe(0);
});

test("words of an agent never become CSS classes or inherited object keys", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/classes`);
  const todos = page.locator(".todos li");
  await todos.filter({ hasText: "To do: toString (toString)" }).waitFor();
  expect(await todos.evaluateAll((all) => all.map((each) => each.className))).toEqual(["", "", "", "", ""]);
  const cards = page.locator("details.tool.raw");
  await expect.poll(() => cards.count()).toBe(5);
  const classes = await page
    .locator("main *")
    .evaluateAll((all) => [...new Set(all.flatMap((each) => [...each.classList]))]);
  expect(classes.filter((each) => !/^[a-z][a-z0-9_-]*$/.test(each))).toEqual([]);
  expect(classes).not.toContain("broken");
  expect(classes).not.toContain("veil");
  await page.getByText("&constructor; &valueOf;").last().waitFor();
});

test("a hostile request shows all its arguments", async ({ alone: person, expect }) => {
  const { page } = person;
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  const hostile = {
    command: "ls \u202e; x",
    cmd: "rm -r /",
    why: "Only <b onclick='window.broken=1'>looks</b>",
    note: "<img src=https://elsewhere.example/x onerror='window.broken=1'>",
    far: `${" ".repeat(70_000)}the end`,
  };
  // Replaces the input of the agent's request.
  await page.routeWebSocket(/conversations/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) => {
      const said = String(message).replaceAll(
        '"command":"rm -r build"',
        JSON.stringify(hostile).slice(1, -1),
      );
      socket.send(said);
    });
  });
  await person.quick("delete something");
  const bar = page.getByRole("region", { name: "Permission" });
  await bar.locator(".command-line .unseen", { hasText: "U+202E" }).waitFor();
  await bar.getByText("invisible characters").waitFor();
  const raw = bar.locator(".raw");
  for (const part of ['"cmd": "rm -r /"', "Only <b onclick", "<img src=https://elsewhere.example/x"])
    await raw.getByText(part).first().waitFor();
  expect(await raw.getByText("the end").count()).toBe(0);
  await raw.getByRole("button", { name: /^Show all/ }).click();
  await expect.poll(() => raw.locator("pre").textContent()).toContain("the end");
  await bar.getByRole("heading", { name: "Delete the folder build" }).waitFor(); // the argument `description`
  expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
  await bar.getByRole("button", { name: /^Allow/ }).waitFor();
  expect(await page.evaluate(() => "broken" in window)).toBe(false);
  expect(asked.filter((url) => !url.startsWith(here.server.url))).toEqual([]);
  await bar.getByRole("button", { name: /^Deny/ }).first().click();
  await state(page, "Ready");
});

test("invisible characters are shown by their code numbers", async ({ person }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/hostile?at=32`);
  await page.locator(".unseen", { hasText: "U+202E" }).first().waitFor();
});

/** From the next page load on, rendering a text with this character fails. */
async function breakWith(person: Person, character: string): Promise<void> {
  await person.context.addInitScript((bad) => {
    const { matchAll } = String.prototype;
    String.prototype.matchAll = function (this: string, pattern: RegExp) {
      if (this.includes(bad)) throw new Error("This cannot be drawn.");
      return matchAll.call(this, pattern);
    };
  }, character);
}

test("a row that fails to render is shown as raw data, and the others are not affected", async ({
  expect,
}) => {
  const person = await Person.come(here.browser, here.server);
  await person.beKnown();
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  await say(page, "one\u200cword");
  await expect.poll(() => page.locator(".row.turn").count()).toBe(2);
  await breakWith(person, "\u200c");
  await page.reload();
  // The message, and the answer that repeats it.
  const broken = page.locator(".row.broken", { hasText: "This part could not be shown." });
  await expect.poll(() => broken.count()).toBe(2);
  for (const text of await broken.allTextContents()) expect(text).toContain("one\\u200cword");
  await page.locator(".row .markdown").first().waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
  await person.context.close();
});

test("a page that fails to render says so, and offers to reload", async ({ expect }) => {
  const person = await Person.come(here.browser, here.server);
  await person.beKnown();
  await breakWith(person, "\u200d");
  const { page } = person;
  await person.goHome();
  await page.goto(`${here.server.url}/search?q=${encodeURIComponent("a\u200db")}`);
  const said = page.getByRole("alert");
  await said.getByRole("heading", { name: "This page could not be shown" }).waitFor();
  await said.getByText("This cannot be drawn.").waitFor();
  await page.locator("nav.sidebar").waitFor(); // the person can open another page
  const loaded = page.waitForEvent("load");
  await said.getByRole("button", { name: "Reload" }).click();
  await loaded;
  await page.locator("nav.sidebar").getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await here.server.ask("POST", "/api/conversations", { title: "c\u200dd" });
  await page.reload();
  await page.getByRole("heading", { name: "This page could not be shown" }).waitFor();
  expect(await page.locator("nav.sidebar").count()).toBe(0); // the list itself cannot be rendered
  await person.context.close();
});

test("the page cannot be framed, and runs only its own scripts", async ({ person, expect }) => {
  const { page } = person;
  await person.goHome();
  const refused = await page.evaluate(async () => {
    const script = document.createElement("script");
    try {
      script.textContent = "window.broken = 1";
    } catch {
      return "trusted types";
    }
    document.body.append(script);
    return "broken" in window ? "ran" : "policy";
  });
  expect(refused).not.toBe("ran");
  person.problems.length = 0; // the browser logs what its policy has blocked
});
