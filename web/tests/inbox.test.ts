// The inbox: the open requests of all conversations.
import { say, state } from "./browser";
import { stage } from "./scene";
import { Server } from "./server";

const { here, test } = stage(() => Server.start({ TURNWIRE_QUESTION_SECONDS: "3600" }));

interface Item {
  inbox_item_id: string;
  conversation_id: string;
  request: { kind: string };
}

async function waiting(): Promise<Item[]> {
  return (await here.server.ask<{ items: Item[] }>("GET", "/api/inbox")).items;
}

test.sequential("the inbox shows the open requests of all conversations, and removes answered ones", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const first = await person.quick("ask me a question");
  await state(page, "Waiting for you");
  await person.quick("delete something");
  await page.locator("nav .badge", { hasText: "2" }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator("nav").getByRole("link", { name: "Inbox" }).click();
  const items = page.locator(".cards > li");
  await expect.poll(() => items.count()).toBeGreaterThanOrEqual(1);
  const [item] = (await waiting()).filter((each) => each.conversation_id === first);
  const shown = items.filter({ hasText: "Which colour shall it be?" });
  await shown.waitFor();
  await here.server.ask("POST", `/api/inbox/${item?.inbox_item_id}/answer`, { answer: "Red" });
  await expect.poll(() => shown.count()).toBe(0);
});

test.sequential("an answer in the inbox reaches the agent", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("ask me a question");
  await state(page, "Waiting for you");
  const inbox = await person.tab("/inbox");
  const mine = inbox.locator(".cards > li", { has: inbox.locator(`a[href$="/c/${id}"]`) });
  await mine.getByLabel("Red").check();
  await mine.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Red it is").waitFor();
  await expect.poll(() => mine.count()).toBe(0);
});

test.sequential("a request that moves to the top of the inbox ignores keys for a moment", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await person.quick("delete something");
  await page.getByRole("region", { name: "Permission" }).waitFor();
  await person.quick("delete something");
  await page.getByRole("region", { name: "Permission" }).waitFor();
  for (const { inbox_item_id, request } of await waiting()) {
    if (request.kind === "question")
      // left by the tests before
      await here.server.ask("POST", `/api/inbox/${inbox_item_id}/answer`, { answer: "Red" });
  }
  await page.goto(`${here.server.url}/inbox`);
  const cards = page.locator(".cards > li");
  const before = (await waiting()).length;
  await expect.poll(() => cards.count()).toBe(before);
  await cards.first().getByText("demo", { exact: false }).first().waitFor();
  await cards.first().locator("kbd:not(.soon)").first().waitFor();
  const answers: string[] = [];
  page.on("request", (request) => request.url().endsWith("/answer") && answers.push(request.url()));
  // The second press comes when the next request appears: its keys are not active yet.
  const isPale = await page.evaluate(
    () =>
      new Promise<boolean>((done) => {
        const list = document.querySelector(".cards") as Element;
        const press = () => dispatchEvent(new KeyboardEvent("keydown", { key: "y" }));
        const pale = () => list.querySelector("li:first-child kbd.soon") !== null;
        new MutationObserver((_, observer) => {
          observer.disconnect();
          const wasPale = pale();
          requestAnimationFrame(() => {
            if (pale()) press(); // otherwise the machine was too slow
            done(wasPale);
          });
        }).observe(list, { childList: true });
        press();
      }),
  );
  expect(isPale).toBe(true);
  await cards.first().locator("kbd:not(.soon)").first().waitFor();
  expect(answers.length).toBe(1);
  expect((await waiting()).length).toBe(before - 1);
});

test.sequential("a question with a deadline shows the time that is left", async ({ person }) => {
  await person.quick("ask me a question");
  const form = person.page.getByRole("region", { name: "Question" });
  await form
    .getByRole("timer")
    .getByText(/(59 min \d+ s|1 h 0 min) left/)
    .waitFor();
});

test.sequential("a request causes one notification, only while the page is hidden", async ({
  alone: person,
  expect,
}) => {
  const { page, context } = person;
  await context.grantPermissions(["notifications"]);
  await context.addInitScript(() => {
    const told: string[] = [];
    class Told {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title: string, { body }: { body: string }) {
        told.push(`${title}: ${body}`);
      }
      close() {
        told.push("closed");
      }
    }
    Object.assign(window, { told, Notification: Told });
    Object.defineProperty(document, "visibilityState", {
      get: () => (window as { seen?: string }).seen ?? "visible",
    });
  });
  await page.goto(`${here.server.url}/inbox`);
  await page.getByRole("button", { name: "Preferences" }).click();
  await page.getByRole("menuitem", { name: "Notify me" }).click();
  await page.getByRole("menuitem", { name: "Do not notify me" }).waitFor();
  await page.evaluate(() => Object.assign(window, { seen: "hidden" }));
  const told = () => page.evaluate(() => (window as unknown as { told: string[] }).told);
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", {});
  const other = await person.tab(`/c/${id}`);
  await say(other, "delete something");
  await expect.poll(told).toEqual(["Waiting for you: Delete the folder build"]);
  await page.locator(`.cards > li a[href$="/c/${id}"]`).waitFor();
  await other.getByRole("button", { name: /^Allow/ }).click();
  await expect.poll(told).toEqual(["Waiting for you: Delete the folder build", "closed"]);
});

test.sequential("a browser that forbids notifications causes a notice, and the page keeps working", async ({
  alone: person,
  expect,
}) => {
  const { page, context } = person;
  await context.addInitScript(() => {
    class Refusing {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor() {
        throw new TypeError("Failed to construct 'Notification': Illegal constructor.");
      }
    }
    Object.assign(window, { Notification: Refusing });
    Object.defineProperty(document, "visibilityState", {
      get: () => (window as { seen?: string }).seen ?? "visible",
    });
  });
  await page.goto(`${here.server.url}/inbox`);
  await page.getByRole("button", { name: "Preferences" }).click();
  await page.getByRole("menuitem", { name: "Notify me" }).click();
  await page.getByRole("menuitem", { name: "Do not notify me" }).waitFor();
  await page.evaluate(() => Object.assign(window, { seen: "hidden" }));
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", {});
  const other = await person.tab(`/c/${id}`);
  await say(other, "delete something");
  await page.getByText("does not let pages show notifications").waitFor();
  await page.getByRole("menuitem", { name: "Notify me", exact: true }).waitFor();
  const card = page.locator(".cards > li", { has: page.locator(`a[href$="/c/${id}"]`) });
  await card.getByRole("button", { name: /^Allow/ }).click();
  await expect.poll(() => card.count()).toBe(0);
});

test.sequential("the page retries a refused stream of changes", async ({ person, expect }) => {
  const { page } = person;
  let asked = 0;
  await page.route(/api\/changes/, (route) => {
    asked += 1;
    return asked <= 2 ? route.fulfill({ status: 502, body: "no" }) : route.continue();
  });
  const answered = page.waitForResponse((answer) => answer.url().endsWith("/api/changes") && answer.ok());
  await page.goto(`${here.server.url}/inbox`);
  await answered;
  expect(asked).toBe(3);
});
