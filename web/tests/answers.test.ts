// How an answer of the demo agent is shown: streamed, folded, copied, inspected.
import { violations } from "./axe";
import { pressIn, recordCopies, saidOn, say, state } from "./browser";
import { stage } from "./scene";

const { here, test } = stage();

interface Logged {
  type: string;
  payload: { tool_name?: string; tool_use_id?: string; parent_tool_use_id?: string };
}

async function entriesOf(id: string): Promise<{ message_sequence: number; event: Logged }[]> {
  const path = `/api/conversations/${id}/messages?limit=200`;
  return (await here.server.ask<{ messages: { message_sequence: number; event: Logged }[] }>("GET", path))
    .messages;
}

test("an answer is streamed, and the card of its tool shows the command and its output", async ({
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
  // The sent text is not in the form of the next conversation.
  await page.getByRole("link", { name: "New conversation" }).click();
  expect(await page.getByLabel("What do you want to say?").inputValue()).toBe("");
});

test("Escape stops the agent, and a line says how it stopped", async ({ person }) => {
  const { page } = person;
  await person.quick("a long answer", 0.05);
  await state(page, "Working");
  await page.locator(".markdown strong", { hasText: "1." }).waitFor();
  await page.keyboard.press("Escape");
  await page.locator(".receipt", { hasText: /^Stopped by you$/ }).waitFor();
  await state(page, "Stopped");
});

test("a failed turn is tried again as a new turn, and only the last one", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("fail");
  const again = page.getByRole("button", { name: "Try again" });
  await again.focus();
  await page.keyboard.press("Enter");
  await expect.poll(() => page.locator(".row.said:not(.pending)", { hasText: "fail" }).count()).toBe(2);
  await expect.poll(() => page.locator(".row.turn .failure").count()).toBe(2);
  await expect.poll(() => again.count()).toBe(1);
  // Without an answer the end of the turn copies the error, and links to the message.
  const end = page.locator(".row.turn").last();
  const copied = await recordCopies(page);
  await end.getByRole("button", { name: "Copy", exact: true }).click();
  const shown = (await end.locator(".failure strong").textContent()) ?? "";
  expect(shown).not.toBe("");
  await expect.poll(copied).toBe(shown);
  await end.getByRole("button", { name: "Link to this message" }).click();
  await expect.poll(copied).toMatch(/\?at=\d+$/);
  expect(await page.locator(".row.turn").last().getByRole("button", { name: "Try again" }).count()).toBe(1);
  expect(await violations(page)).toEqual([]);
  await say(page, "hello");
  await page.getByText("You said: hello").waitFor();
  await state(page, "Ready");
  await expect.poll(() => again.count()).toBe(0);
});

test("two tabs show the same, and an answer in one closes the question in the other", async ({
  person,
  expect,
}) => {
  const id = await person.quick("think, use a tool, ask me a question");
  const first = person.page;
  const second = await person.tab(`/c/${id}`);
  await state(second, "Waiting for you");
  await second.getByLabel("Blue").check();
  await second.getByRole("button", { name: "Answer" }).click();
  await first.locator(".chosen", { hasText: "Blue" }).waitFor();
  await Promise.all([state(first, "Ready"), state(second, "Ready")]);
  expect(await first.getByRole("region", { name: "Question" }).count()).toBe(0);
  // A row that the browser has not measured yet has no inner text, but it has text content.
  const rows = (page: typeof first) => page.locator(".markdown").allTextContents();
  await expect.poll(() => rows(first)).toEqual(await rows(second));
});

test("a reload during an answer shows everything once, and the answer continues", async ({
  person,
  expect,
}) => {
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

test("the inspector shows the layers of a message", async ({ person, expect }) => {
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

test("a screen reader announces each state once, in a few words", async ({ person, expect }) => {
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
  // No other live region announces the same.
  expect(await page.locator(".state-words[role], .requests[aria-live]").count()).toBe(0);
});

test("the text of a sub-agent can be inspected and copied", async ({ person }) => {
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

test("characters that reverse the text direction are shown as codes in every place", async ({
  alone: person,
  expect,
}) => {
  const { page } = person;
  // Puts such a character into every text that the server sends.
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
  // The end of the turn has the buttons of the answer directly above it.
  const answer = page.locator(".row.text", { hasText: "There are three of them" });
  await answer.hover();
  expect(await answer.getByRole("button").count()).toBe(0);
  await page.locator(".row.turn").getByRole("button", { name: "Copy" }).click();
  await expect
    .poll(() => page.evaluate(() => navigator.clipboard.readText()))
    .toBe("There are **three** of them: `README.md`, `notes.txt` and `src`.");
});

test("the plan of a turn is one card that changes, with its earlier versions; another turn has its own", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const id = await person.quick("make a plan");
  await state(page, "Ready");
  const plans = page.locator("details.tool.todo");
  await plans.getByText("3 of 3 done").waitFor();
  expect(await plans.count()).toBe(1);
  const before = plans.locator(".earlier-plans");
  await before.getByText("3 earlier versions").click();
  await expect.poll(() => before.locator(".todos").count()).toBe(3);
  expect(await before.locator(".todos").first().locator("li.completed").count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  // A link to an earlier version leads to the card.
  const calls = (await entriesOf(id)).filter(({ event }) => event.payload.tool_name === "TodoWrite");
  expect(calls.length).toBe(4);
  await page.goto(`${here.server.url}/c/${id}?at=${calls[1]?.message_sequence}`);
  await page.locator(".sought details.tool.todo").waitFor();
  await page.goto(`${here.server.url}/c/${id}`);
  await say(page, "make a plan");
  await expect.poll(() => plans.count()).toBe(2);
  await state(page, "Ready");
  expect(await plans.count()).toBe(2);
});

test("the plan is open, and the prompt of a sub-agent is shown once", async ({ person, expect }) => {
  const { page } = person;
  const id = await person.quick("make a plan, send a helper");
  await state(page, "Ready");
  const isOpen = () =>
    page
      .locator("details.tool.todo")
      .evaluateAll((all) => all.map((each) => (each as HTMLDetailsElement).open));
  await page.locator(".scroller").evaluate((element) => element.scrollTo(0, 0));
  await expect.poll(isOpen).toEqual([true]);
  await page.getByText("3 of 3 done").waitFor();
  // The card of the sub-agent tells its start and its end: no other row does.
  await page.locator("details.tool.agent summary", { hasText: "Sub-agent" }).locator(".state.good").waitFor();
  expect(await page.locator(".row.happened").count()).toBe(0);
  await expect.poll(() => page.getByText("Please count the words in notes.txt").count()).toBe(1);

  // A search result inside of a sub-agent's work opens at its position in the card.
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

test("thinking is folded and shows its duration, also after a reload", async ({ person }) => {
  const { page } = person;
  await person.quick("think", 0.1); // longer than a second
  await state(page, "Ready");
  const thoughts = page.locator(".thoughts:not([open])");
  await thoughts.getByText(/^Thought for \d/).waitFor();
  await page.reload();
  await thoughts.getByText(/^Thought for \d/).waitFor();
});
