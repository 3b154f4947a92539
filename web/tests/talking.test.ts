// A person, a browser, a real server and the demo agent.
import type { Page } from "playwright-core";
import { pressIn, saidOn, say, state } from "./browser";
import { Server } from "./server";
import { stage } from "./stage";

/** So that not much has to be written until it is too much. */
const { here, test } = stage(() => Server.start({ TURNWIRE_MAX_FRAME_BYTES: "50000" }));

interface Logged {
  type: string;
  payload: { tool_name?: string; tool_use_id?: string; parent_tool_use_id?: string };
}

async function entriesOf(id: string): Promise<{ message_sequence: number; event: Logged }[]> {
  const path = `/api/conversations/${id}/messages?limit=200`;
  return (await here.server.ask<{ messages: { message_sequence: number; event: Logged }[] }>("GET", path))
    .messages;
}

interface Sent {
  content: { text: string }[];
}

test("who is let in by a link stays in, however late a refusal from before comes", async () => {
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

test("the link lets a browser in once, and leaves no secret in it", async ({ expect }) => {
  const { browser, server } = here;
  const link = server.newLink();
  const other = await browser.newContext();
  const page = await other.newPage();
  await page.goto(link);
  await page.getByRole("heading", { name: "Talk to an agent" }).waitFor();
  expect(page.url()).toBe(`${server.url}/`);
  // The page key, which opens nothing without the cookie, and the cookie, which no script can read.
  const found = await page.evaluate(() => ({ ...localStorage, ...sessionStorage }));
  expect(Object.keys(found)).toEqual(["turnwire:page:/"]);
  expect(await page.evaluate(() => document.cookie)).toBe("");
  const key = { "X-Turnwire-Page": found["turnwire:page:/"] as string };
  const cookie = (await other.cookies()).map((each) => `${each.name}=${each.value}`).join("; ");
  for (const half of [key, { Cookie: cookie }])
    expect((await fetch(`${server.url}/api/agents`, { headers: half })).status).toBe(401);
  const both = { ...key, Cookie: cookie };
  expect((await fetch(`${server.url}/api/agents`, { headers: both })).status).toBe(200);
  await page.goto(link); // who is in already goes on
  await page.getByRole("heading", { name: "Talk to an agent" }).waitFor();
  const second = await other.newPage(); // another tab, and one that is loaded again
  await second.goto(`${server.url}/inbox`);
  await second.reload();
  await second.locator("nav.sidebar").waitFor();
  await page.evaluate(() => localStorage.clear()); // a cookie of before there were page keys
  await page.goto(server.url);
  await page.getByRole("heading", { name: "Who is there?" }).waitFor();
  await page.getByText("turnwire token link").waitFor();
  await other.clearCookies();
  await page.goto(link);
  await page.getByText("This link was used").waitFor();
  await page.getByText("turnwire token link").waitFor();
  const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  expect(await background()).toBe("rgb(251, 250, 248)"); // it looks like the rest
  await other.close();
});

test("whoever is not known is told how to come in", async ({ expect }) => {
  const { browser, server } = here;
  const stranger = await browser.newContext();
  const page = await stranger.newPage();
  await page.goto(`${server.url}/inbox`);
  await page.getByRole("heading", { name: "Who is there?" }).waitFor();
  await page.getByText("turnwire token link").waitFor();
  // The page says it, and nothing else does in the words of programs.
  const refused = page.waitForResponse(/api\/agents/);
  await page.goto(server.url);
  await (await refused).finished();
  await page.getByRole("heading", { name: "Who is there?" }).waitFor();
  await page.evaluate(() => new Promise(requestAnimationFrame));
  expect(await page.locator(".notice").count()).toBe(0);
  await stranger.close();
});

test("an address that cannot be read leads to nothing", async ({ person }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/c/%E0%A4%A`);
  await page.getByRole("heading", { name: "There is nothing here" }).waitFor();
  await page.getByRole("link", { name: "New conversation" }).click();
  await page.getByLabel("What do you want to say?").waitFor();
});

test("no address in the page's own leads it to another server", async ({ person, expect }) => {
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

test("an answer is streamed, and its tool is a card with the command and what it printed", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.begin("use a tool");
  const card = page.locator("details.tool.command");
  await card.getByText("ls -l").waitFor();
  await card.getByText("notes.txt").waitFor();
  await page.locator(".markdown", { hasText: "There are three of them" }).waitFor();
  await state(page, "Ready");
  await expect.poll(saidOn(page)).toEqual(["use a tool"]);
  await page
    .locator(".row.turn")
    .getByText(/\dk? in · \dk? out|\d in · \d+ out/)
    .waitFor();
  await page.locator("nav .list").getByText("use a tool", { exact: true }).first().waitFor();
  await page.getByRole("article", { name: "Command: List the files" }).waitFor();
  // What was said is not offered again.
  await page.getByRole("link", { name: "New conversation" }).click();
  expect(await page.getByLabel("What do you want to say?").inputValue()).toBe("");
});

test("what is refused goes back to where one writes", async ({ person, expect }) => {
  const { page } = person;
  const long = "many words ".repeat(5_000).trim();
  await person.begin(long);
  await page.getByText("This is too long for one message").waitFor();
  const field = page.getByLabel("Message", { exact: true });
  await expect.poll(() => field.inputValue()).toBe(long);
  await field.press("Enter");
  await expect.poll(() => field.inputValue()).toBe(long);
  expect(await page.evaluate(() => Object.keys(localStorage).filter((name) => /:sent:/.test(name)))).toEqual(
    [],
  );
});

test("a question is answered with an option, and the card shows who said what", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("ask me a question");
  await state(page, "Waits for you");
  const form = page.getByRole("region", { name: "Question" });
  await form.getByRole("button", { name: "Answer" }).click();
  await form.getByText("Every question needs an answer.").waitFor();
  await form.getByLabel("Green").check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page.locator(".answered", { hasText: "Green" }).waitFor();
  await page.getByText("Green it is").waitFor();
  await state(page, "Ready");
  const offered = page.getByRole("list", { name: "Options" });
  expect(await offered.getByRole("listitem").count()).toBe(3);
  await offered.getByText("like a fire engine").waitFor();
  expect(await offered.locator(".chosen").innerText()).toContain("Green");
});

test("a question is answered in own words", async ({ person }) => {
  const { page } = person;
  await person.quick("ask me a question");
  await page.getByLabel("Something else").fill("Ultramarine");
  await page.getByLabel("Something else").press("Enter");
  await page.getByText("Ultramarine it is").waitFor();
});

test("several questions stand in one form, and are answered together", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("show me a form");
  const form = page.getByRole("region", { name: "Question" });
  const colours = form.getByRole("group", { name: /Which colour shall it be/ });
  const sizes = form.getByRole("group", { name: /And in which sizes/ });
  await colours.getByLabel("Red").check();
  await colours.getByLabel("Blue").check();
  await sizes.getByLabel("Small").check();
  await sizes.getByLabel("Large").check();
  await sizes.getByLabel("Something else").fill("Tiny");
  await form.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Blue, Small, Large, Tiny it is").waitFor();
  await state(page, "Ready");
  expect(await page.locator(".asked, .answered").allTextContents()).toEqual([
    "Which colour shall it be?",
    "Blue — owner",
    "And in which sizes?",
    "Small, Large, Tiny — owner",
  ]);
});

test("what need not be answered can be answered in part, or skipped", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("show me a form");
  const form = page.getByRole("region", { name: "Question" });
  await form
    .getByRole("group", { name: /Which colour/ })
    .getByLabel("Green")
    .check();
  await form.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Green it is").waitFor();
  await state(page, "Ready");
  await say(page, "another form");
  await form.getByRole("button", { name: "Skip" }).click();
  await page.getByText("Then I choose myself.").waitFor();
  await state(page, "Ready");
  const answers = ["Green — owner", "Skipped — owner", "Skipped — owner"];
  expect(await page.locator(".answered").allTextContents()).toEqual(answers);
  expect(await form.count()).toBe(0);
});

test("the key y allows, and the bar shows exactly what runs", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  const bar = page.getByRole("region", { name: "Permission" });
  expect((await bar.locator(".command-line code").innerText()).trim()).toBe("rm -r build");
  await bar.locator("kbd:not(.soon)").first().waitFor();
  await page.keyboard.press("y");
  await page.getByText("Allowed by owner").waitFor();
  await state(page, "Ready");
});

test("a permission is denied with a reason", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Deny, with a reason" }).click();
  await page.getByPlaceholder("Why not?").fill("not today");
  await page.keyboard.press("Enter");
  await page.locator(".decided", { hasText: "Denied by owner" }).getByText("not today").waitFor();
  await state(page, "Ready");
  const card = page.locator("details.tool.command");
  expect(await card.locator("summary .state").innerText()).toBe("denied");
  expect(await card.getByText("not today").count()).toBe(1);
});

test("a permission is given for another command than the one that was asked for", async ({ person }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Change it" }).click();
  const field = page.getByRole("textbox", { name: "Change it" });
  await field.fill("rm -r \u202ebuild");
  await page.locator(".edit .unseen", { hasText: "U+202E" }).waitFor();
  await field.fill("rm -r build/tmp");
  await page.getByRole("button", { name: "Allow as changed" }).click();
  await page.getByText("What ran instead").waitFor();
  await page.locator(".markdown code", { hasText: "rm -r build/tmp" }).waitFor();
});

test("what is always allowed is said, and not asked again", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  const always = page.getByRole("button", { name: "Always" });
  const rule = page.getByText("Bash: rm -r build · in this conversation, while its agent runs");
  await rule.waitFor();
  const about = await always.getAttribute("aria-describedby");
  expect(await page.locator(`[id="${about}"]`, { has: rule }).count()).toBe(1);
  await always.click();
  await state(page, "Ready");
  await say(page, "delete it again");
  await page.locator("details.tool.command").nth(1).getByText("removed directory").waitFor();
  await state(page, "Ready");
});

test("Escape stops the agent, and a receipt says what it did", async ({ person }) => {
  const { page } = person;
  await person.quick("a long answer", 0.05);
  await state(page, "Working");
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".receipt", { hasText: "the agent obeyed" }).waitFor();
  await state(page, "Stopped");
});

test("messages that wait can be seen, moved, edited, removed and continued", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("ask me a question");
  await state(page, "Waits for you");
  for (const words of ["first", "second", "third"]) await say(page, words);
  const queue = page.getByRole("region", { name: "Waiting messages" });
  await queue.getByText("3 messages wait").waitFor();
  await queue.locator("li", { hasText: "third" }).getByRole("button", { name: "Earlier" }).click();
  await expect.poll(() => queue.locator(".text").allInnerTexts()).toEqual(["first", "third", "second"]);
  await queue.locator("li", { hasText: "first" }).getByRole("button", { name: "Later" }).click();
  await expect.poll(() => queue.locator(".text").allInnerTexts()).toEqual(["third", "first", "second"]);
  await queue
    .locator("li", { hasText: "second" })
    .getByRole("button", { name: "Remove this message" })
    .click();
  await queue.locator("li", { hasText: "first" }).getByRole("button", { name: "Edit this message" }).click();
  await queue.getByRole("textbox").fill("the other one");
  await queue.getByRole("textbox").press("Shift+Enter");
  await queue.getByRole("textbox").pressSequentially("in two lines");
  await queue.getByRole("textbox").press("Enter");
  const both = "the other one\nin two lines";
  await expect.poll(() => queue.locator(".text").allTextContents()).toEqual(["third", both]);
  await queue.locator("li", { hasText: "other" }).getByRole("button", { name: "Edit this message" }).click();
  expect(await queue.getByRole("textbox").inputValue()).toBe(both);
  await queue.getByRole("textbox").press("Escape");

  // Somebody removes a message while it is being changed: what was written is not lost.
  await queue.locator("li", { hasText: "third" }).getByRole("button", { name: "Edit this message" }).click();
  await queue.getByRole("textbox").fill("third, but better");
  const other = await person.tab(`/c/${id}`);
  await other
    .locator(".queue li", { hasText: "third" })
    .getByRole("button", { name: "Remove this message" })
    .click();
  await page.getByText("does not wait any more. What you wrote is below.").waitFor();
  const field = page.getByLabel("Message", { exact: true });
  expect(await field.inputValue()).toBe("third, but better");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("composer");
  await field.fill("");
  await page.getByRole("button", { name: "Stop" }).click();
  await queue.getByText("held").waitFor();
  await queue.getByRole("button", { name: "Continue" }).click();
  await page.locator(".row.said", { hasText: "the other one" }).waitFor();
  await state(page, "Ready");
  const { messages } = await here.server.ask<{ messages: { event: { type: string; payload: Sent } }[] }>(
    "GET",
    `/api/conversations/${id}/messages?limit=200`,
  );
  const said = messages.flatMap(({ event }) =>
    event.type === "user.message" ? event.payload.content.map(({ text }) => text) : [],
  );
  expect(said).toEqual(["ask me a question", both]);
});

test("two tabs are in step, and what is answered in one is gone from the other", async ({
  person,
  expect,
}) => {
  const id = await person.quick("think, use a tool, ask me a question");
  const first = person.page;
  const second = await person.tab(`/c/${id}`);
  await state(second, "Waits for you");
  await second.getByLabel("Blue").check();
  await second.getByRole("button", { name: "Answer" }).click();
  await first.locator(".answered", { hasText: "Blue" }).waitFor();
  await Promise.all([state(first, "Ready"), state(second, "Ready")]);
  expect(await first.getByRole("region", { name: "Question" }).count()).toBe(0);
  // A row that the browser has not measured yet has no inner text, but its words are there.
  const rows = (page: typeof first) => page.locator(".markdown").allTextContents();
  await expect.poll(() => rows(first)).toEqual(await rows(second));
});

test("a reload in mid-answer shows everything once, and goes on", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("a long answer", 0.02);
  const part = (number: number) => page.locator(".markdown strong", { hasText: `${number}.` });
  await part(1).waitFor();
  await page.reload();
  await state(page, "Working");
  await part(3).waitFor();
  await page.keyboard.press("Escape");
  await state(page, "Stopped");
  const texts = () => page.locator(".row .markdown").allTextContents();
  await expect.poll(() => part(1).count()).toBe(1);
  const whole = await texts();
  await page.reload();
  await state(page, "Stopped");
  await expect.poll(texts).toEqual(whole);
  await expect.poll(saidOn(page)).toEqual(["a long answer"]);
});

test("who scrolls up a little while the answer grows stays there", async ({ person, expect }) => {
  const { page } = person;
  await page.setViewportSize({ width: 1280, height: 480 });
  await person.quick("a long answer", 0.04);
  const left = () =>
    page.locator(".scroller").evaluate((each) => each.scrollHeight - each.clientHeight - each.scrollTop);
  await expect.poll(() => page.locator(".scroller").evaluate((each) => each.scrollTop)).toBeGreaterThan(50);
  await page.locator(".timeline").hover();
  for (let time = 0; time < 5; time += 1) {
    await page.mouse.wheel(0, -25);
    await page.getByRole("button", { name: "To the newest message" }).click();
    await expect.poll(left).toBeLessThan(3);
    await page.locator(".timeline").hover();
  }
  await page.getByRole("button", { name: "Stop" }).click();
});

test("what somebody opens at the end stays under their hand, and the end is followed from there on", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.setViewportSize({ width: 1280, height: 480 });
  await person.quick("use a tool, think");
  await state(page, "Ready");
  const thoughts = page.locator(".thoughts summary");
  await page.locator(".row.turn").waitFor();
  await thoughts.hover(); // once it stands still
  const top = async () => Math.round((await thoughts.boundingBox())?.y ?? -1);
  const before = await top();
  await thoughts.click();
  await page.locator(".thoughts[open]").waitFor();
  await expect.poll(top).toBe(before);
  await thoughts.click();
  await page.locator(".thoughts:not([open])").waitFor();

  // Neither what makes the page larger, nor a movement to the side, is one who scrolls up.
  const scroller = page.locator(".scroller");
  const left = () => scroller.evaluate((each) => each.scrollHeight - each.clientHeight - each.scrollTop);
  await say(page, "a long answer");
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  for (const how of [
    { deltaY: -80, ctrlKey: true },
    { deltaY: -1, deltaX: 40 },
  ])
    await scroller.dispatchEvent("wheel", { bubbles: true, ...how });
  await state(page, "Ready");
  await expect.poll(left).toBeLessThan(3);
});

test("an answer that was begun is still there for who has looked elsewhere", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("ask me a question");
  const own = page.getByRole("region", { name: "Question" }).getByLabel("Something else");
  await own.fill("something between");
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("main").getByLabel("Something else").first().waitFor(); // others ask, too
  await page.goBack();
  await expect.poll(() => own.inputValue()).toBe("something between");
  await own.press("Enter");
  await page.locator("details.tool").getByText("something between").waitFor();
});

test("a draft is the same in all tabs, and none of them takes another's away", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("hello");
  await state(page, "Ready");
  const field = page.getByLabel("Message", { exact: true });
  const second = await person.tab(`/c/${id}`);
  const other = second.getByLabel("Message", { exact: true });
  await other.waitFor();
  await field.fill("not yet");
  await expect.poll(() => other.inputValue()).toBe("not yet");
  await page.goto("about:blank");
  await second.getByRole("link", { name: "Inbox" }).click(); // nobody wrote there
  await page.goto(`${here.server.url}/c/${id}`);
  await expect.poll(() => field.inputValue()).toBe("not yet");
  await second.goBack();
  await expect.poll(() => other.inputValue()).toBe("not yet");
  await field.press("Enter");
  await expect.poll(() => other.inputValue()).toBe("");
  await state(page, "Ready");
  await second.reload();
  await expect.poll(saidOn(second)).toEqual(["hello", "not yet"]);
  expect(await other.inputValue()).toBe("");
});

test("a draft is kept, and arrow up brings back what was said", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  const field = page.getByLabel("Message", { exact: true });
  await field.fill("not yet");
  await expect.poll(() => page.evaluate(() => Object.values(localStorage).includes("not yet"))).toBe(true);
  await page.reload();
  await expect.poll(() => field.inputValue()).toBe("not yet");
  await page.locator(".row.said", { hasText: "hello" }).waitFor();
  await field.fill("");
  await field.press("ArrowUp");
  expect(await field.inputValue()).toBe("hello");
  await field.press("Enter");
  await expect.poll(saidOn(page)).toEqual(["hello", "hello"]);
});

test("a conversation is renamed, found, exported, archived, taken out again and deleted", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("hello zebra");
  await state(page, "Ready");
  await page.getByRole("button", { name: "hello zebra" }).click();
  await page.getByRole("textbox", { name: "Rename" }).fill("Striped animals");
  await page.keyboard.press("Enter");
  await page.locator("nav").getByText("Striped animals").waitFor();
  await page.getByRole("searchbox").fill("zebra");
  await page.keyboard.press("Enter");
  await page.locator(".hits mark", { hasText: "zebra" }).first().click();
  await page.waitForURL(new RegExp(`/c/${id}\\?at=`));
  await page.locator(".sought").waitFor();

  await page.locator("main").getByRole("button", { name: "More" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export, to import it again" }).click(),
  ]);
  expect(download.suggestedFilename()).toBe("Striped animals.jsonl");
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Archive" }).click();
  await expect.poll(() => page.locator("nav").getByText("Striped animals").count()).toBe(0);
  await page.getByRole("button", { name: "Archived" }).click();
  await page.locator("nav").getByText("Striped animals").click();
  await page.getByRole("heading", { name: "This conversation is archived" }).waitFor();
  // It can be read, by its address too; every tab knows what becomes of it.
  const other = await person.tab(`/c/${id}`);
  for (const tab of [page, other]) {
    await tab.locator("main").getByRole("heading", { name: "Striped animals" }).waitFor();
    await tab.locator(".row.said", { hasText: "hello zebra" }).waitFor();
    await expect.poll(() => tab.title()).toBe("Striped animals · Turnwire");
  }
  await page.getByRole("button", { name: "Take out of the archive" }).click();
  await Promise.all([state(page, "Ready"), state(other, "Ready")]);
  await page.locator("main").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("menuitem", { name: "Delete for good" }).click();
  await page.getByText("“Striped animals” is deleted").waitFor();
  await other.getByRole("heading", { name: "This conversation was deleted" }).waitFor();
  await expect(here.server.ask("GET", `/api/conversations/${id}`)).rejects.toThrow("404");
});

test("a message can be seen in its layers", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("use a tool");
  await state(page, "Ready");
  const card = page.locator(".row", { has: page.locator("details.tool.command") });
  await pressIn(card, "Inspect");
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await layers.getByRole("region", { name: "Frame" }).getByText("assistant.tool_call").waitFor();
  await layers.getByRole("region", { name: "Shown" }).getByText("ls -l").first().waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => layers.count()).toBe(0);
});

test("everything can be reached by keys, and ? says how", async ({ person, expect }) => {
  const { page } = person;
  await person.goHome();
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("TEXTAREA");
  await page.keyboard.press("Escape");
  await page.keyboard.press("b"); // there is nothing before it in this page: it stays
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).getByText("Stop the agent").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.waitForURL(/inbox$/);
  await page.keyboard.press("b");
  await page.getByRole("heading", { name: "Talk to an agent" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("c");
  const words = page.getByLabel("What do you want to say?");
  await words.fill("hello");
  await words.press("Enter");
  await page.waitForURL(/\/c\/\w+$/);
  await state(page, "Ready");
  await page.keyboard.press("Escape");
  await page.keyboard.press("t");
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe("dark");
});

test("a key that is held decides once: what is asked next has to be read first", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("delete something");
  await page.locator("kbd:not(.soon)").first().waitFor();
  await say(page, "delete something else");
  await page.getByRole("region", { name: "Waiting messages" }).waitFor();
  await page.getByRole("region", { name: "Permission" }).click({ position: { x: 5, y: 5 } });
  await page.keyboard.down("y");
  await page.locator("details.tool.command .decided").waitFor();
  const second = page.locator("details.tool.command").nth(1).getByText("Waits for you");
  await second.waitFor();
  await page.keyboard.down("y");
  await page.locator("kbd:not(.soon)").first().waitFor();
  await page.keyboard.down("y");
  await page.keyboard.up("y");
  expect(await second.count()).toBe(1);
  await page.keyboard.press("n");
  await page.locator(".decided", { hasText: "Denied by owner" }).waitFor();
  await state(page, "Ready");
});

test("Escape leaves a form without stopping the agent", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("button", { name: "Change it" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Deny, with a reason" }).click();
  await page.keyboard.press("Escape");
  await page.getByRole("searchbox").focus();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Change it" }).waitFor();
  expect(await page.locator(".state-words").innerText()).toBe("Waits for you");
  expect(await page.locator(".receipt").count()).toBe(0);
});

test("a dialog has the keyboard for itself: Escape closes it and stops nobody", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("a long answer", 0.05);
  await state(page, "Working");
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  await page.locator(".scroller").click();
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard" });
  await sheet.waitFor();
  await page.keyboard.press("g"); // to the inbox, elsewhere
  await page.keyboard.press("Escape");
  await expect.poll(() => sheet.count()).toBe(0);
  expect(page.url()).toMatch(/\/c\//);
  await page.locator(".markdown strong", { hasText: "3." }).waitFor(); // it goes on
  expect(await page.locator(".receipt").count()).toBe(0);
  await page.keyboard.press("Escape");
  await state(page, "Stopped");
});

test("nothing is allowed through a dialog that lies over it", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("delete something");
  await page.locator("kbd:not(.soon)").first().waitFor();
  const said = page.locator(".row.said");
  await pressIn(said, "Inspect");
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await layers.getByRole("region", { name: "Frame" }).waitFor();
  for (const key of ["y", "a", "n"]) await page.keyboard.press(key);
  await page.keyboard.press("Escape");
  await expect.poll(() => layers.count()).toBe(0);
  expect(await page.locator(".decided").count()).toBe(0);
  await page.getByRole("region", { name: "Permission" }).locator("kbd:not(.soon)").first().waitFor();
  await page.keyboard.press("n");
  await page.locator(".decided", { hasText: "Denied by owner" }).waitFor();
});

test("the keyboard goes to what is asked, and back to where one writes", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("ask me a question");
  await page.getByRole("region", { name: "Question" }).waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("type"))).toBe("radio");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.getByText("Green it is").waitFor();
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("composer");
});

test("what is dropped on the page goes nowhere else, and a refusal says why", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("hello");
  await drop(page, "picture.png", "image/png");
  await page.getByText("This agent does not take pictures.").waitFor();
  await drop(page, "words.txt", "text/plain");
  await page.getByText("Only pictures can be added.").waitFor();
  const [title, notice] = await Promise.all([
    page.locator(".talk-header").boundingBox(),
    page.locator(".notice").first().boundingBox(),
  ]);
  expect(notice?.y).toBeGreaterThanOrEqual((title?.y ?? 0) + (title?.height ?? 0));
  // Words with a picture of them, as office programs copy them: the words are what is meant.
  const isLeft = await page.getByLabel("Message", { exact: true }).evaluate((field) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/plain", "some words");
    clipboardData.items.add(new File(["x"], "words.png", { type: "image/png" }));
    return field.dispatchEvent(
      new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
    );
  });
  expect(isLeft).toBe(true);
  expect(await page.locator(".notice").count()).toBeLessThanOrEqual(2);
  expect(page.url()).toBe(`${here.server.url}/c/${id}`);
});

test("who does not see the page is told what happens, once and in a few words", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("hello");
  await page.locator(".row.turn").waitFor();
  await page.reload();
  await page.locator(".row.turn").waitFor();
  const told = page.locator(".announcer");
  await page.evaluate(() => {
    const heard: string[] = [];
    const live = document.querySelector(".announcer") as Element;
    new MutationObserver(() => heard.push(live.textContent ?? "")).observe(live, {
      childList: true,
      characterData: true,
      subtree: true,
    });
    Object.assign(window, { heard });
  });
  await say(page, "use a tool, ask me a question");
  await told.getByText("The agent asks a question").waitFor({ state: "attached" });
  await page.getByLabel("Red").check();
  await page.getByRole("button", { name: "Answer" }).click();
  await told.getByText("The agent has answered").waitFor({ state: "attached" });
  const heard = await page.evaluate(() => (window as unknown as { heard: string[] }).heard);
  expect(heard).toEqual(["Working", "The agent asks a question", "The agent has answered"]);
  // Nothing else says the same.
  expect(await page.locator(".state-words[role], .requests[aria-live]").count()).toBe(0);
});

test("what a helper says can be inspected and copied as well", async ({ person }) => {
  const { page } = person;
  await person.quick("send a helper");
  await state(page, "Ready");
  const words = page.locator(".nested .row.text").first();
  await words.hover();
  await words.getByRole("button", { name: "Copy" }).waitFor();
  await pressIn(words, "Inspect");
  const layers = page.getByRole("dialog", { name: "Inspect" });
  await layers.getByRole("region", { name: "Frame" }).getByText("parent_tool_use_id").waitFor();
});

test("no character that turns the text around is left as it is, wherever it stands", async ({
  alone: person,
  expect,
}) => {
  const { page } = person;
  // As if everything that is said had one in it.
  await page.routeWebSocket(/conversations/, (socket) => {
    const server = socket.connectToServer();
    server.onMessage((message) =>
      socket.send(String(message).replaceAll(/(?<=[a-z]) (?=[a-z])/gi, " \u202e")),
    );
  });
  await person.quick("background, make a plan, send a helper, ask me a question", 0.01);
  await page.getByRole("region", { name: "Question" }).waitFor();
  const hidden = () =>
    page.locator("main").evaluate((main) => {
      const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
      const found: string[] = [];
      while (walker.nextNode()) {
        const { textContent, parentElement } = walker.currentNode;
        if (textContent?.includes("\u202e")) found.push(`${parentElement?.className}: ${textContent}`);
      }
      return found;
    });
  await page.locator(".option .unseen").first().waitFor();
  const scroller = page.locator(".scroller");
  for (let at = 0; at < 6; at += 1) {
    await scroller.evaluate((element) => {
      for (const each of element.querySelectorAll<HTMLDetailsElement>("details:not([open])"))
        each.open = true;
    });
    await page.evaluate(() => new Promise(requestAnimationFrame));
    expect((await hidden()).filter((each) => !each.startsWith("hidden announcer"))).toEqual([]);
    await scroller.evaluate((element) => element.scrollBy(0, -element.clientHeight / 2));
  }
  await page.locator(".task-prompt .unseen").first().waitFor({ state: "attached" });
  await page.context().setOffline(true);
  await say(page, "one \u202etwo");
  await page.locator(".row.pending .unseen, .queue .unseen").first().waitFor();
});

test("an answer is copied as it was written", async ({ person, expect }) => {
  const { page } = person;
  await person.context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await person.quick("use a tool");
  await state(page, "Ready");
  const answer = page.locator(".row.text", { hasText: "There are three of them" });
  await answer.hover();
  await answer.getByRole("button", { name: "Copy" }).click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toBe("There are **three** of them: `README.md`, `notes.txt` and `src`.");
});

test("of plans the newest is open, and a helper says once what it was told", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("make a plan, send a helper");
  await state(page, "Ready");
  const isOpen = () =>
    page
      .locator("details.tool.todo")
      .evaluateAll((all) => all.map((each) => (each as HTMLDetailsElement).open));
  await page.locator(".scroller").evaluate((element) => element.scrollTo(0, 0));
  await expect.poll(isOpen).toEqual([false, false, false, true]);
  await page.getByText("3 of 3 done").waitFor();
  await page.getByText("A helper begins: Count the words of the notes").waitFor();
  await page.getByText("Done: There are 48 words in notes.txt.").waitFor();
  await expect.poll(() => page.getByText("Please count the words in notes.txt").count()).toBe(1);

  // What is found in a helper's work leads to its place there.
  const entries = await entriesOf(id);
  const numberOf = (isIt: (event: Logged) => boolean) =>
    entries.findLast(({ event }) => isIt(event))?.message_sequence;
  const call = entries.find(({ event }) => event.payload.tool_name === "Agent")?.event.payload.tool_use_id;
  const told = numberOf(
    ({ type, payload }) => type === "user.message" && payload.parent_tool_use_id === call,
  );
  const printed = numberOf(
    ({ type, payload }) => type === "assistant.tool_result" && payload.parent_tool_use_id === call,
  );
  const result = numberOf(
    ({ type, payload }) => type === "assistant.tool_result" && payload.tool_use_id === call,
  );
  await page.goto(`${here.server.url}/c/${id}?at=${told}`);
  await page.locator(".sought details.tool.agent").waitFor();
  await page.goto(`${here.server.url}/c/${id}?at=${printed}`);
  await page.locator(".sought .sought-inner details.tool.command", { hasText: "48 notes.txt" }).waitFor();
  await page.goto(`${here.server.url}/c/${id}?at=${result}`);
  await page.locator(".sought details.tool.agent").waitFor();
});

test("work that goes on in the background is not shown as done", async ({ person }) => {
  const { page } = person;
  await person.quick("background", 0.1);
  const shown = page.locator("details.tool.agent summary .state");
  await shown.getByText("in the background").waitFor();
  await shown.locator("svg").waitFor();
});

test("work in the background is stopped, and nothing is reported of it", async ({
  alone: person,
  expect,
}) => {
  const { page } = person;
  // What is asked is held back, to see that it is under way.
  let asked: (() => void) | undefined;
  await page.routeWebSocket(/\/ws\//, (line) => {
    const server = line.connectToServer();
    line.onMessage((message) => {
      if (String(message).includes("stop_task")) asked = () => server.send(message);
      else server.send(message);
    });
  });
  await person.quick("background", 0.1);
  await page.getByText("I will tell you when it is done").waitFor();
  const strip = page.getByRole("list", { name: "In the background" });
  await strip.getByRole("button", { name: "Stop: Search the whole archive" }).click();
  const stopping = strip.getByRole("button", { name: "Stopping: Search the whole archive" });
  await stopping.waitFor();
  expect(await stopping.isDisabled()).toBe(true);
  await expect.poll(() => asked).toBeDefined();
  asked?.();
  await strip.waitFor({ state: "detached" });
  await page.locator(".row.happened", { hasText: "Stopped: Interrupted by the person." }).waitFor();
  await state(page, "Ready");
  await say(page, "hello");
  await page.getByText("You said: hello").waitFor();
  expect(await page.getByText("The background work is done").count()).toBe(0);
  // What the agent cannot do is not offered.
  expect(await page.getByRole("button", { name: "About the agent" }).count()).toBe(0);
  expect(await page.getByRole("button", { name: "Put the files back" }).count()).toBe(0);
});

test("work that could not be stopped says why, and can be stopped again", async ({
  alone: person,
  expect,
}) => {
  const { page } = person;
  await page.routeWebSocket(/\/ws\//, (line) => {
    const server = line.connectToServer();
    line.onMessage((message) =>
      server.send(String(message).replace(/"task_id":"\w+"/, '"task_id":"nobody"')),
    );
  });
  await person.quick("background", 0.1);
  const stop = page.getByRole("button", { name: "Stop: Search the whole archive" });
  await stop.click();
  await page.locator(".notice", { hasText: "There is no background task 'nobody'." }).waitFor();
  expect(await stop.isEnabled()).toBe(true);
});

test("reasoning is folded, and says how long it took, after a reload too", async ({ person }) => {
  const { page } = person;
  await person.quick("think");
  await state(page, "Ready");
  const thoughts = page.locator(".thoughts:not([open])");
  await thoughts.getByText(/^Thought for \d/).waitFor();
  await page.reload();
  await thoughts.getByText(/^Thought for \d/).waitFor();
});

test("without a line the page says so, and what is sent meanwhile counts once", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("hello");
  await state(page, "Ready");
  await person.context.setOffline(true);
  await page.locator(".line-banner.shown", { hasText: "You are offline" }).waitFor();
  await state(page, "Offline");
  await say(page, "are you there?");
  await page.locator(".row.pending", { hasText: "are you there?" }).waitFor();
  await person.context.setOffline(false);
  await page.locator(".row.said:not(.pending)", { hasText: "are you there?" }).waitFor();
  await page.locator(".line-banner:not(.shown)").waitFor({ state: "attached" });
  await state(page, "Ready");
  await expect.poll(saidOn(page)).toEqual(["hello", "are you there?"]);
});

/** A file, dropped in the middle of the page. */
async function drop(page: Page, name: string, type: string): Promise<void> {
  const files = await page.evaluateHandle(
    ([name, type]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["x"], name, { type }));
      return transfer;
    },
    [name, type] as const,
  );
  await page.dispatchEvent(".timeline", "dragover", { dataTransfer: files });
  await page.dispatchEvent(".timeline", "drop", { dataTransfer: files });
}
