// The hooks, and the example, in Chromium.
import { readFileSync } from "node:fs";
import type { Page as Tab } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Client } from "../../typescript/src/node.js";
import { say } from "../../typescript/test/conversation_actions.js";
import { Server } from "../../typescript/test/server.js";
import { ROOT } from "../../typescript/test/server_process.js";
import { Browser, type Pages, serving } from "./browser.js";
import { CHROMIUM } from "./chromium.js";
import type { Page } from "./pages/hooks.js";

declare const window: { page: Page };

/** A picture of one pixel, in base64. */
const DOT =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Long timers never end, so a page learns nothing from a poll. */
const NO_POLLS = `{
  const real = setTimeout;
  globalThis.setTimeout = (run, time = 0) => (time < 5_000 ? real(run, time) : 0);
}`;

/** Drops or pastes a file into an element of the page. */
async function give(
  tab: Tab,
  how: "drop" | "paste",
  element: string,
  name: string,
  type: string,
  content: string,
): Promise<void> {
  const bytes = Buffer.from(content, type.startsWith("image/") ? "base64" : "utf8").toString("base64");
  await tab.locator(element).evaluate(
    (element, [how, name, type, bytes]) => {
      const data = new DataTransfer();
      const content = Uint8Array.from(atob(bytes), (each) => each.charCodeAt(0));
      data.items.add(new File([content], name, { type }));
      const rest = { bubbles: true, cancelable: true };
      element.dispatchEvent(
        how === "drop"
          ? new DragEvent("drop", { dataTransfer: data, ...rest })
          : new ClipboardEvent("paste", { clipboardData: data, ...rest }),
      );
    },
    [how, name, type, bytes] as const,
  );
}

describe.skipIf(!CHROMIUM)("in Chromium", () => {
  let server: Server;
  let browser: Browser;
  let client: Client;
  /** An origin without a Turnwire server. */
  let otherOrigin: Pages;

  beforeAll(async () => {
    otherOrigin = await serving("clients/react/test/pages", "http://127.0.0.1:9");
    [server, browser] = await Promise.all([
      Server.start({
        TURNWIRE_ORIGINS: otherOrigin.url,
        TURNWIRE_AGENTS: "demo,reading:reader",
        TURNWIRE_MAX_BLOB_BYTES: "50000",
      }),
      Browser.start(),
    ]);
    client = new Client(server.url, { token: server.token });
  });

  afterAll(async () => {
    client?.close();
    await Promise.all([browser?.stop(), server?.stop(), otherOrigin?.stop()]);
  });

  /** Opens a page of the server's own origin, signed in. */
  async function enter(url: string): Promise<Tab> {
    const tab = await browser.page();
    await tab.goto(url);
    const link = new URL(server.newLink()).searchParams.get("link") ?? "";
    await tab.evaluate(async (given) => {
      const headers = { "Content-Type": "application/json" };
      const answer = await fetch("/enter", {
        method: "POST",
        headers,
        body: JSON.stringify({ link: given }),
      });
      localStorage.setItem("turnwire:page:/", (await answer.json()).page_key);
    }, link);
    await tab.goto(url); // with the stored cookie and page key
    return tab;
  }

  describe("the hooks", () => {
    let pages: Pages;
    let tab: Tab;

    beforeAll(async () => {
      pages = await serving("clients/react/test/pages", server.url);
      tab = await enter(pages.url);
      await tab.waitForFunction(() => window.page !== undefined);
    });

    afterAll(async () => {
      await tab?.close();
      await pages?.stop();
    });

    test("render at most once per frame, and only the growing message", async () => {
      const id = await client.create({ options: { delay: 0.002 } });
      const conversation = client.conversation(id);
      await say(conversation, "hello");
      await tab.evaluate((id) => window.page.show(id), id);
      await tab.waitForFunction(() => document.querySelector("#turns")?.textContent === "1");
      const before = await tab.evaluate(() => ({ ...window.page.drawn }));
      const frames = tab.evaluate(
        () =>
          new Promise<number>((told) => {
            let count = 0;
            const next = () => {
              count += 1;
              if (document.querySelector("#turns")?.textContent === "2") told(count);
              else requestAnimationFrame(next);
            };
            requestAnimationFrame(next);
          }),
      );
      let pieces = 0;
      const stop = conversation.onFrame(() => {
        pieces += 1;
      });
      const view = await say(conversation, "long");
      stop();
      const after = await tab.evaluate(() => ({ ...window.page.drawn }));
      const times = (name: string) => (after[name] ?? 0) - (before[name] ?? 0);
      expect(pieces).toBeGreaterThan(50);
      expect(times("chat")).toBeGreaterThan(1);
      // React itself may render once more, if an update comes between two frames.
      expect(times("chat")).toBeLessThanOrEqual((await frames) + 2);
      for (const message of view.messages.filter((message) => message.turn_id === 1)) {
        expect(times(message.id), message.id).toBe(0);
      }
      expect(await tab.locator("p").count()).toBe(view.messages.length);
    });

    test("share one connection, also in strict mode, and release it", async () => {
      const id = await client.create({ options: { delay: 0 } });
      const sockets: string[] = [];
      const note = (socket: { url(): string }) => sockets.push(socket.url());
      tab.on("websocket", note);
      await tab.evaluate((id) => window.page.show(id, 3), id);
      await tab.waitForFunction(() =>
        [...document.querySelectorAll("#connection")].every((each) => each.textContent === "connected"),
      );
      expect(await tab.locator("#connection").count()).toBe(3);
      expect(sockets.filter((url) => url.includes(id))).toHaveLength(1);
      await tab.evaluate((id) => window.page.show(id, 0), id);
      await tab.waitForFunction(
        (id) => window.page.client.conversation(id).snapshot.connection === "idle",
        id,
      );
      tab.off("websocket", note);
    });

    test("have an inbox that answers a question of any conversation", async () => {
      const id = await client.create({ options: { delay: 0 } });
      const conversation = client.conversation(id);
      await conversation.send("question and permission");
      await conversation.until((view) => view.status?.requests.length === 1);
      await tab.evaluate((id) => window.page.show(id, 1, true), id);
      await tab.click("li button");
      await conversation.until((view) => view.status?.requests[0]?.kind === "permission");
      await tab.locator("li button", { hasText: "Bash" }).click();
      await conversation.until((view) => view.turns.length === 1);
      await tab.waitForFunction(() => document.querySelectorAll("li").length === 0);
    });

    test("learn from the stream of changes what waits, without a poll", async () => {
      const own = await browser.page();
      await own.addInitScript(NO_POLLS);
      await own.goto(pages.url);
      const id = await client.create({ options: { delay: 0 } });
      await own.evaluate((id) => window.page.show(id, 0, true), id);
      await own.waitForSelector("ul[data-loaded=true]", { state: "attached" });
      await client.conversation(id).send("question");
      await own.click("li button");
      await own.waitForSelector("li button", { state: "detached" });
      await own.close();
    });

    test("read the stream of changes in one tab, for all tabs", async () => {
      await tab.evaluate(() => window.page.show("none", 0)); // this tab reads no more
      const id = await client.create({ options: { delay: 0 } });
      const open = async () => {
        const own = await browser.page();
        const streams: string[] = [];
        own.on("request", (request) => request.url().endsWith("/api/changes") && streams.push(request.url()));
        await own.addInitScript(NO_POLLS);
        await own.goto(pages.url);
        await own.evaluate((id) => window.page.show(id, 0, true), id);
        await own.waitForSelector("ul[data-loaded=true]", { state: "attached" });
        return { own, streams };
      };
      const [one, other] = [await open(), await open()];
      await client.conversation(id).send("question");
      for (const { own } of [one, other]) await own.waitForSelector("li button");
      expect([one.streams.length, other.streams.length]).toEqual([1, 0]);
      await one.own.close();
      await expect.poll(() => other.streams.length).toBe(1); // it takes over
      await other.own.click("li button");
      await other.own.waitForSelector("li button", { state: "detached" });
      await other.own.close();
    });

    test("have a list of conversations that is live", async () => {
      await tab.evaluate(() => window.page.showList());
      await tab.waitForSelector("nav[data-loaded=true]");
      const id = await client.create({ title: "A new one", options: { delay: 0 } });
      await tab.waitForSelector(`#listed-${id}:has-text('A new one waits')`);
      const other = await client.create({ title: "Another", options: { delay: 0 } });
      await tab.waitForSelector(`#listed-${other}`);
      await client.conversation(id).send("question");
      await client.conversation(id).until((view) => view.status?.requests.length === 1);
      await tab.waitForSelector(`#listed-${id}:first-child:has-text('A new one works')`);
      await client.request("PATCH", `/api/conversations/${other}`, { archived: true });
      await tab.waitForSelector(`#archived-${other}`);
      await tab.waitForSelector(`#listed-${other}`, { state: "detached" });
      await client.request("DELETE", `/api/conversations/${id}`);
      await tab.waitForSelector(`#listed-${id}`, { state: "detached" });
    });

    test("reconnect after the server was killed", async () => {
      const id = await client.create({ options: { delay: 0.02 } });
      await tab.evaluate((id) => window.page.show(id), id);
      const conversation = client.conversation(id);
      await conversation.send("long");
      await tab.waitForFunction(
        () => (document.querySelector("p[data-id^=msg]")?.textContent?.length ?? 0) > 20,
      );
      await server.kill();
      await tab.waitForFunction(() => document.querySelector("#connection")?.textContent === "connecting");
      await server.restart();
      const view = await say(conversation, "think");
      await tab.waitForFunction(() => document.querySelector("#turns")?.textContent === "2");
      const shown = await tab.evaluate((id) => window.page.client.conversation(id).view(), id);
      expect(shown).toEqual(view);
    });

    // The last test, because it signs the browser in again.
    test("find a server below a path of the page's own host", async () => {
      const own = await browser.page();
      await own.goto(`${pages.url}/?url=/chat`);
      await own.waitForFunction(() => window.page !== undefined);
      const link = new URL(server.newLink()).searchParams.get("link") ?? "";
      const sockets: string[] = [];
      own.on("websocket", (socket) => sockets.push(socket.url()));
      const said = await own.evaluate(async (given) => {
        const { client } = window.page;
        await client.enter(given);
        const conversation = client.conversation(await client.create({ options: { delay: 0 } }));
        await conversation.send("hello");
        await conversation.until((view) => view.turns.length === 1);
        const kept = localStorage.getItem("turnwire:page:/chat/") !== null;
        client.close();
        return { url: client.http.url, kept };
      }, link);
      expect(said).toEqual({ url: `${pages.url}/chat`, kept: true });
      expect(sockets.some((url) => url.startsWith(`${pages.url.replace("http", "ws")}/chat/ws/`))).toBe(true);
      await own.close();
    });
  });

  test("a page of another origin connects with tickets, over both protocols", async () => {
    const tab = await browser.page();
    let tickets = 0;
    await tab.exposeFunction("ticket", async () => {
      tickets += 1;
      return (await client.request<{ ticket: string }>("POST", "/api/tickets")).ticket;
    });
    await tab.goto(`${otherOrigin.url}/?url=${encodeURIComponent(server.url)}`);
    await tab.waitForFunction(() => window.page !== undefined);
    const id = await client.create({ options: { delay: 0 } });
    const seen = await tab.evaluate(async (id) => {
      const { client } = window.page;
      await client.conversation(id).send("hello");
      const { turns } = await client.conversation(id).until((view) => view.turns.length === 1);
      const result = await client.rpc({ conversation: id }).query("hello again").result();
      return [turns.length, result?.subtype];
    }, id);
    expect(seen).toEqual([1, "success"]);
    expect(tickets).toBe(2);
    await tab.close();
  });

  describe("the components", () => {
    let pages: Pages;
    let tab: Tab;

    beforeAll(async () => {
      pages = await serving("clients/react/test/pages", server.url);
      tab = await enter(pages.url);
    });

    afterAll(async () => {
      await tab?.close();
      await pages?.stop();
    });

    test("send with Enter, show thinking and tools, ask, and stop", async () => {
      const id = await client.create({ options: { delay: 0 } });
      const conversation = client.conversation(id);
      await tab.evaluate((id) => window.page.showConversation(id), id);
      await tab.fill("textarea", "think, use a tool and want permission");
      await tab.press("textarea", "Shift+Enter");
      await tab.press("textarea", "Enter");
      await tab.click("[data-turnwire=permission] button:text-is('Allow')");
      await conversation.until((view) => view.turns.length === 1);
      await tab.waitForSelector("[data-turnwire=permission]", { state: "detached" });
      expect(await tab.inputValue("textarea")).toBe("");
      expect(await tab.locator("[data-turnwire=thinking]").count()).toBeGreaterThan(0);
      expect(await tab.locator("[data-turnwire=tool][data-state=done]").count()).toBe(2);
      expect(await tab.locator("article[data-role=user] strong").allTextContents()).toEqual([
        "think, use a tool and want permission",
      ]);
      await tab.fill("textarea", "question");
      await tab.click("button:text-is('Send')");
      await tab.fill("[data-turnwire=question] input", "Orange");
      await tab.click("button:text-is('Answer')");
      await tab.waitForSelector("strong:has-text('Orange')");
      await conversation.until((view) => view.turns.length === 2);
      await tab.waitForSelector("button:text-is('Stop')", { state: "detached" });
    });

    test("say that a tool call waits, while its permission waits", async () => {
      const id = await client.create({ agent: "reader" });
      await tab.evaluate((id) => window.page.showConversation(id), id);
      await tab.fill("textarea", "permission");
      await tab.press("textarea", "Enter");
      const card = tab.locator("[data-turnwire=tool]");
      await tab.waitForSelector("[data-turnwire=tool][data-state=waiting]");
      expect(await card.locator("summary").textContent()).toBe("send needs permission");
      await tab.click("button:text-is('Allow')");
      await tab.waitForSelector("[data-turnwire=tool][data-state=done]");
      expect(await card.locator("summary").textContent()).toBe("send done");
    });

    test("show the failure of each turn at its end, also after a reload", async () => {
      const id = await client.create({ options: { delay: 0 } });
      const conversation = client.conversation(id);
      for (const words of ["error", "hello", "error"]) await say(conversation, words);
      await conversation.send("question");
      await conversation.until((view) => view.status?.requests.length === 1);
      const shown = () =>
        tab.locator("[role=log] > *").evaluateAll((all) =>
          all.flatMap((each) => {
            const { role } = each.attributes as NamedNodeMap & { role?: Attr };
            if (role) return [role.value];
            return (each as HTMLElement).dataset.role === "user" ? [each.textContent] : [];
          }),
        );
      const expected = ["error", "note", "hello", "error", "alert", "question"];
      for (const _ of ["at first", "after a reload"]) {
        await tab.evaluate((id) => window.page.showConversation(id), id);
        await expect.poll(shown).toEqual(expected);
        expect(
          await tab.locator("[role=log] [role=note], [role=log] [role=alert]").allTextContents(),
        ).toEqual(["The demo failed, as it was asked to.", "The demo failed, as it was asked to."]);
        await tab.reload();
        await tab.waitForFunction(() => window.page !== undefined);
      }
      await tab.evaluate((id) => window.page.showConversation(id), id);
      await tab.click("button:text-is('Blue')");
      await conversation.until((view) => view.turns.length === 4);
    });

    test("show a message that is sent while offline, and warn before the page is left", async () => {
      const id = await client.create({ agent: "reader" });
      const mayLeave = () =>
        tab.evaluate(() => dispatchEvent(new Event("beforeunload", { cancelable: true })));
      await browser.context.setOffline(true);
      try {
        await tab.evaluate((id) => window.page.showConversation(id), id);
        expect(await mayLeave()).toBe(true);
        await give(tab, "drop", "[data-turnwire=composer]", "notes.md", "text/markdown", "some notes");
        await tab.waitForSelector("[data-turnwire=attached] li");
        await tab.fill("textarea", "Is anyone there?");
        await tab.press("textarea", "Enter");
        const sending = tab.locator("[role=log] > :last-child");
        await sending.locator("article[data-role=user] strong:text-is('Is anyone there?')").waitFor();
        await sending.locator("small:text-is('Sending ...')").waitFor();
        expect(await sending.locator("summary").textContent()).toBe("notes.md");
        expect(await mayLeave()).toBe(false);
      } finally {
        await browser.context.setOffline(false);
      }
      await tab.waitForSelector("strong:has-text('That is all.')");
      await tab.waitForSelector("text=Sending ...", { state: "detached" });
      expect(await tab.locator("article[data-role=user]").count()).toBe(1);
      expect(await mayLeave()).toBe(true);
    });

    test("show the plan, until all its steps are done", async () => {
      const id = await client.create({ agent: "reader" });
      await tab.evaluate((id) => window.page.showConversation(id), id);
      await tab.fill("textarea", "plan");
      await tab.press("textarea", "Enter");
      await tab.waitForSelector("[data-turnwire=plan] summary:text-is('Plan 1/3')");
      expect(await tab.locator("[data-turnwire=plan] li").allTextContents()).toEqual([
        "Look done",
        "Write in progress",
        "Test to do",
      ]);
      const done = await client.create({ options: { delay: 0 } });
      await tab.evaluate((id) => window.page.showConversation(id), done);
      await say(client.conversation(done), "plan");
      await tab.waitForSelector("strong:has-text('All three steps are done.')");
      await tab.waitForSelector("[data-turnwire=plan]", { state: "detached" });
    });

    test("keep the card of a call closed while its form shows what is asked", async () => {
      const id = await client.create({ options: { delay: 0 } });
      await tab.evaluate((id) => window.page.showConversation(id), id);
      await tab.fill("textarea", "question and permission");
      await tab.press("textarea", "Enter");
      const waiting = tab.locator("[data-turnwire=tool][data-state=waiting]");
      await tab.waitForSelector("[data-turnwire=question]");
      await waiting.waitFor();
      expect(await waiting.getAttribute("open")).toBe(null);
      await waiting.locator("summary").click(); // a person may open it
      await waiting.locator("p:has-text('?')").waitFor();
      expect(await waiting.textContent()).not.toContain("{");
      // Descriptions can be read, and are no part of the name of a button.
      await tab.waitForSelector("[data-turnwire=question] button:text-is('Blue') + small");
      await tab.waitForSelector("[data-turnwire=question] input[placeholder='Your own answer']");
      await tab.click("button:text-is('Blue')");
      await tab.waitForSelector("[data-turnwire=permission]");
      await waiting.waitFor();
      expect(await waiting.getAttribute("open")).toBe(null);
      await tab.click("button:text-is('Deny')");
      await client.conversation(id).until((view) => view.turns.length === 1);
    });

    test("attach what is chosen, pasted and dropped, and show the pictures and the files", async () => {
      const id = await client.create({ agent: "reader" });
      await tab.evaluate((id) => window.page.showConversation(id), id);
      await tab.waitForSelector("[data-turnwire=conversation][data-connection=connected]");
      const pdf = { name: "report.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1") };
      expect(await tab.locator("[data-turnwire=attach] > :visible").count()).toBe(1); // without our style sheet, only the browser's field
      await tab.setInputFiles("input[type=file]", [pdf, { ...pdf, name: "wrong.pdf" }]);
      await tab.click("button[aria-label='Remove wrong.pdf']");
      await give(tab, "drop", "[data-turnwire=composer]", "notes.md", "text/markdown", "some notes");
      await give(tab, "paste", "textarea", "dot.png", "image/png", DOT);
      await tab.waitForSelector("[data-turnwire=attached] img[alt='dot.png']");
      await give(tab, "drop", "[data-turnwire=composer]", "sound.ogg", "audio/ogg", "\0");
      await tab.waitForSelector("[role=alert]:text-is('This agent does not take sound.ogg.')");
      expect(await tab.locator("[data-turnwire=attached] li").count()).toBe(3);
      await tab.fill("textarea", "Read these");
      await tab.click("button:text-is('Send')");
      await tab.waitForSelector("strong:has-text('There is a picture.')");
      await tab.waitForSelector("strong:has-text('report.pdf has 6 bytes.')");
      const said = tab.locator("article[data-role=user]");
      expect(await said.locator("strong").textContent()).toBe("Read these");
      expect(await said.locator("details summary").textContent()).toBe("notes.md"); // folded
      expect(await said.locator("details pre").textContent()).toBe("some notes");
      const picture = said.locator("img[alt=Picture]");
      await expect.poll(() => picture.evaluate((img) => (img as HTMLImageElement).naturalWidth)).toBe(1);
      const [saved] = await Promise.all([
        tab.waitForEvent("download"),
        tab.click("button[title='Download report.pdf']"),
      ]);
      expect(saved.suggestedFilename()).toBe("report.pdf");
      expect(readFileSync(await saved.path(), "utf8")).toBe("%PDF-1");
      expect(await tab.locator("[data-turnwire=attached]").count()).toBe(0);
    });

    test("make a file of a long text that is pasted, and paste it as text if a person wants it", async () => {
      const id = await client.create({ agent: "reader" });
      await tab.evaluate((id) => window.page.showConversation(id), id);
      await tab.waitForSelector("[data-turnwire=conversation][data-connection=connected]");
      const paste = (text: string) =>
        tab.locator("textarea").evaluate((field, text) => {
          const clipboardData = new DataTransfer();
          clipboardData.setData("text/plain", text);
          field.dispatchEvent(
            new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }),
          );
        }, text);
      const long = "line\n".repeat(150);
      await tab.fill("textarea", "above\n");
      await paste(long);
      await tab.waitForSelector("[data-turnwire=attached] li:has-text('pasted-text.txt')");
      await tab.click("button:text-is('Paste as text')");
      await tab.waitForSelector("[data-turnwire=attached]", { state: "detached" });
      expect(await tab.inputValue("textarea")).toBe(`above\n${long}`);
      await tab.fill("textarea", "Read this");
      await paste(long);
      await tab.click("button:text-is('Send')");
      await tab.waitForSelector("article[data-role=user] summary:text-is('pasted-text.txt')");
      expect(await tab.locator("button:text-is('Paste as text')").count()).toBe(0);
    });

    test("show why the server refuses a file that is too large", async () => {
      const id = await client.create({ agent: "reader" });
      await tab.evaluate((id) => window.page.showConversation(id), id);
      await tab.waitForSelector("[data-turnwire=conversation][data-connection=connected]");
      const buffer = Buffer.alloc(50_001, 0xff);
      await tab.setInputFiles("input[type=file]", [{ name: "a.pdf", mimeType: "application/pdf", buffer }]);
      await tab.waitForSelector("[role=alert]:has-text('max_blob_bytes')");
      expect(await tab.locator("[data-turnwire=attached]").count()).toBe(0);
    });

    test("speak another language", async () => {
      const id = await client.create({ agent: "reader" });
      const german = { send: "Senden", message: "Nachricht", needsPermission: "wartet auf Erlaubnis" };
      await tab.evaluate(([id, words]) => window.page.showConversation(id, undefined, words), [
        id,
        german,
      ] as const);
      await tab.fill("textarea[placeholder=Nachricht]", "permission");
      await tab.click("button:text-is('Senden')");
      await tab.waitForSelector("summary:has-text('wartet auf Erlaubnis')");
      await tab.click("button:text-is('Deny')"); // English where there is no other word
    });

    test("load older messages with a button", async () => {
      const id = await client.create({ options: { delay: 0 } });
      for (const words of ["one", "two", "three"]) await say(client.conversation(id), words);
      await tab.evaluate((id) => window.page.showConversation(id, 2), id);
      await tab.click("button:text-is('Load older messages')");
      await tab.waitForSelector("strong:text-is('one')");
      await tab.waitForSelector("button:text-is('Load older messages')", { state: "detached" });
    });

    test("answer the inbox", async () => {
      const id = await client.create({ options: { delay: 0 } });
      const conversation = client.conversation(id);
      await conversation.send("question and permission");
      await conversation.until((view) => view.status?.requests.length === 1);
      await tab.evaluate(() => window.page.showInbox());
      await tab.click(`article:has(h2:text-is('${id}')) button:text-is('Blue')`);
      await tab.click(`article:has(h2:text-is('${id}')) button:text-is('Deny')`);
      await conversation.until((view) => view.turns.length === 1);
      await tab.waitForSelector(`h2:text-is('${id}')`, { state: "detached" });
    });

    test("ask several questions at once, and show a refusal", async () => {
      const questions = [
        {
          id: "size",
          question: "Which size?",
          options: [{ label: "small", description: "for one" }, { label: "large" }],
        },
        {
          id: "extras",
          question: "Which extras?",
          multi: true,
          options: [{ label: "milk" }, { label: "ice" }],
        },
        { id: "name", question: "Which name?" },
      ];
      const request = { request_id: "q", kind: "question", tool_use_id: "t", tool_name: "ask", questions };
      await tab.evaluate((request) => window.page.showQuestion(request), request);
      await tab.waitForSelector("label:has(input[value=small]) small:has-text('for one')");
      await tab.click("button:text-is('Answer')");
      await tab.waitForSelector("[role=alert]:text-is('Each question needs an answer.')");
      await tab.check("input[value=large]");
      await tab.check("input[value=milk]");
      await tab.check("input[value=ice]");
      await tab.fill("input[aria-label='Your own answer: Which extras?']", "sugar");
      await tab.fill("input[aria-label='Your own answer: Which name?']", "Ada");
      await tab.click("button:text-is('Answer')");
      await tab.waitForSelector("[role=alert]:text-is('Another client was quicker.')");
      await tab.click("button:text-is('Answer')");
      await tab.waitForSelector("[role=alert]", { state: "detached" });
      const answers = await tab.evaluate(() => window.page.answers);
      const expected = { size: "large", extras: ["milk", "ice", "sugar"], name: "Ada" };
      expect(answers).toEqual([expected, expected]);
    });
  });

  test("a permission is denied with a reason, allowed with a changed command, or for always by one rule", async () => {
    const pages = await serving("clients/react/test/pages", server.url);
    const tab = await enter(pages.url);
    const show = (more: object) =>
      tab.evaluate((request) => window.page.showPermission(request), {
        request_id: "p",
        kind: "permission",
        tool_use_id: "t",
        tool_name: "Bash",
        input: { command: "ls" },
        ...more,
      });
    const decided = (count: number) =>
      tab.waitForFunction((count) => window.page.decisions.length === count, count);
    await tab.waitForFunction(() => window.page !== undefined);
    await show({});
    // Each field has its own place: a value cannot look like another field.
    expect(await tab.locator("[data-turnwire=input] dt").allTextContents()).toEqual(["command"]);
    expect(await tab.locator("[data-turnwire=input] dd").allTextContents()).toEqual(["ls"]);
    await show({ input: ["rm", "-r"] });
    await tab.waitForSelector("pre:has-text('\"rm\"')"); // as JSON
    await show({});
    await tab.click("button:text-is('Deny with a reason')");
    await tab.fill("[data-turnwire=permission] input", "Not today.");
    await tab.click("button:text-is('Deny')");
    await decided(1);
    await tab.click("button:text-is('Back')");
    await tab.click("button:text-is('Edit')");
    await tab.fill("textarea", " ");
    await tab.click("button:text-is('Allow this')");
    await tab.waitForSelector("[role=alert]:text-is('This would run nothing.')");
    await tab.fill("textarea", "ls -l");
    await tab.click("button:text-is('Allow this')");
    await decided(2);
    const suggestions = [{ name: "once more" }, { name: "for ever" }];
    await show({ request_id: "q", decision_only: true, suggestions });
    expect(await tab.locator("button:text-is('Edit')").count()).toBe(0);
    await tab.click("button:text-is('Always allow: for ever')");
    await decided(3);
    const rules = [{ toolName: "Bash", ruleContent: "git push:*" }, { toolName: "Read" }];
    const push = { type: "addRules", behavior: "allow", destination: "session", rules };
    const mode = { type: "setMode", mode: "acceptEdits", destination: "session" };
    await show({ request_id: "s", decision_only: true, suggestions: [push, mode] });
    await tab.waitForSelector("button:text-is('Always allow: Bash(git push:*), Read')");
    await tab.waitForSelector("button:text-is('Always allow: acceptEdits')");
    await show({ request_id: "r", input: { command: "ls\u200b" } });
    await tab.waitForSelector("[data-turnwire=invisible]:text-is('U+200B')");
    expect(await tab.evaluate(() => window.page.decisions)).toEqual([
      ["p", "deny", { reason: "Not today." }],
      ["p", "allow", { updated_input: { command: "ls -l" } }],
      ["q", "allow", { remember: [{ name: "for ever" }] }],
    ]);
    await tab.close();
    await pages.stop();
  });

  test("the example sends, answers, stops, and shows the same after a reload", async () => {
    const lines = readFileSync(`${ROOT}examples/react-chat/main.jsx`, "utf8").trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(30);
    const pages = await serving("examples/react-chat", server.url);
    const tab = await browser.page();
    await tab.goto(`${pages.url}/${new URL(server.newLink()).search}`);
    const talk = async (words: string) => {
      await tab.fill("textarea[name=words]", words);
      await tab.click("button:text-is('Send')");
    };
    await talk("think, use a tool and want permission");
    // The style sheet of the package is used, and a rule of the page wins over it.
    const allow = tab.locator("button:text-is('Allow')");
    const colour = () => allow.evaluate((each) => getComputedStyle(each).backgroundColor);
    await allow.waitFor();
    expect(await colour()).toBe("rgb(31, 106, 87)");
    await tab.addStyleTag({ content: "button { background: rgb(1, 2, 3) }" });
    expect(await colour()).toBe("rgb(1, 2, 3)");
    await allow.click();
    await tab.waitForSelector("text=Say `help` to see what else there is.");
    // Instead of the browser's own field, there is a button with words, which opens the same dialog.
    const attach = tab.locator("label:has(input[type=file])");
    await attach.locator("span:text-is('Attach files')").waitFor();
    expect(await attach.locator("input").evaluate((each) => getComputedStyle(each).opacity)).toBe("0");
    const [chooser] = await Promise.all([tab.waitForEvent("filechooser"), attach.click()]);
    expect(chooser.isMultiple()).toBe(true);
    await talk("question");
    await tab.click("button:text-is('Blue')");
    await tab.waitForSelector("text=it is. Thank you!");
    await talk("error");
    await tab.waitForSelector("[role=alert]:has-text('The demo failed')");
    await talk("long");
    await tab.click("button:has-text('Stop'):enabled");
    await tab.waitForSelector("[role=log][aria-busy=false]"); // the turn has ended
    const before = await tab.locator("article").allTextContents();
    expect(before.length).toBeGreaterThan(5);
    await tab.reload();
    await tab.waitForFunction(
      (count) => document.querySelectorAll("article").length === count,
      before.length,
    );
    expect(await tab.locator("article").allTextContents()).toEqual(before);
    await tab.waitForSelector("nav a[aria-current=page]:has-text('think, use a tool')"); // the live list has its title
    const other = await client.create({ title: "Another one" });
    await tab.click("nav a:text-is('Another one')");
    await tab.waitForSelector("nav a[aria-current=page]:text-is('Another one')");
    await tab.fill("textarea[name=words]", "question");
    await tab.click("button:text-is('Send')");
    await client.conversation(other).until((view) => view.status?.requests.length === 1);
    await tab.waitForSelector("nav li:has-text('Another one'):has-text('needs an answer')");
    await tab.close();
    await pages.stop();
  });

  test("no page had an error", () => {
    expect(browser.errors).toEqual([]);
  });
});
