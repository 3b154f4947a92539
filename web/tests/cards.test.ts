// What cards, ends of turns and the search show of outputs, stops and failures.
import { deflateSync } from "node:zlib";
import type { Locator, Page } from "playwright-core";
import { violations } from "./axe";
import { Person, state } from "./browser";
import { stage } from "./scene";
import { ROOT, Server } from "./server";

const { here, test } = stage(() =>
  Server.start({ TURNWIRE_AGENTS: "web.tests.python.agents:actor,demo", PYTHONPATH: ROOT }),
);

/** Starts a conversation in which the agent does these steps. Returns its id. */
async function act({ page }: Person, steps: object[], words = "Ready"): Promise<string> {
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { agent: "actor" });
  await page.goto(`${here.server.url}/c/${id}`);
  await page.getByLabel("Message", { exact: true }).fill(coded(steps));
  await page.getByRole("button", { name: /^Send/ }).click();
  if (words !== "Waiting for you") await page.locator(".row.turn").waitFor();
  await state(page, words);
  return id;
}

/** So that the message of the person shows none of the texts. */
const coded = (steps: object[]) => deflateSync(JSON.stringify(steps)).toString("base64");

const lines = (from: number, to: number, text = "line") =>
  Array.from({ length: to - from + 1 }, (_, at) => `${text} ${from + at}`).join("\n");

/** Pixels below the visible part of an element. */
const left = (box: Locator) => () =>
  box.evaluate((each) => Math.round(each.scrollHeight - each.clientHeight - each.scrollTop));

test("a long output shows its end, and all of it in a box that is as high as the window allows", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await act(person, [{ tool: "Bash", input: { command: "seq 3000" }, result: lines(1, 3000) }]);
  const box = page.locator(".output pre");
  await expect.poll(left(box)).toBe(0);
  const before = await box.evaluate((each) => each.clientHeight);
  expect(await box.evaluate((each) => each.scrollHeight)).toBeGreaterThan(before);
  await page
    .locator(".output")
    .getByRole("button", { name: /^Show all/ })
    .click();
  await expect.poll(() => box.evaluate((each) => each.clientHeight)).toBeGreaterThan(1.5 * before);
  expect(await box.innerText()).toMatch(/^line 1\n/);
  expect(await left(box)()).toBe(0);
  // Also where nothing was cut, but more than the box shows.
  await act(person, [{ tool: "Bash", input: { command: "seq 60" }, result: lines(1, 60) }]);
  await expect.poll(left(box)).toBe(0);
  await page
    .locator(".output")
    .getByRole("button", { name: /^Show all/ })
    .click();
  await expect.poll(() => box.evaluate((each) => each.clientHeight)).toBeGreaterThan(1.5 * before);
});

test("the end of an output stays in sight while it grows, until the person scrolls", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await page.setViewportSize({ width: 1280, height: 1600 }); // the box stays in sight
  const output = [`${lines(1, 100)}\n`, "", `${lines(101, 200)}\n`, "", `${lines(201, 300)}\n`, ""];
  await act(person, [{ tool: "Bash", input: { command: "seq 300" }, output, result: "" }], "Waiting for you");
  const box = page.locator(".output pre");
  const answer = async (line: string) => {
    await page.getByRole("region", { name: "Question" }).getByLabel("Yes").check();
    await page.getByRole("button", { name: "Answer" }).click();
    await expect.poll(() => box.innerText()).toContain(line);
  };
  await expect.poll(left(box)).toBe(0);
  await answer("line 200");
  await expect.poll(left(box)).toBe(0);
  await box.evaluate((each) => each.scrollTo(0, 40));
  await expect.poll(() => box.evaluate((each) => each.scrollTop)).toBe(40);
  await answer("line 300");
  expect(await box.evaluate((each) => each.scrollTop)).toBe(40);
});

const bar = (page: Page) => page.getByRole("search", { name: "Find in this conversation" });
const count = (page: Page) => () => bar(page).getByRole("status").innerText();
async function find(page: Page, text: string): Promise<void> {
  await page.keyboard.press("Control+f");
  await bar(page).getByRole("textbox").fill(text);
  await bar(page).getByRole("textbox").focus();
}

/** Returns the marked texts, and the current one with its place. */
const marks = (page: Page) => () =>
  page.evaluate(() => {
    const ranges = (name: string) => [...(CSS.highlights.get(name) ?? [])] as Range[];
    const [now] = ranges("found-now");
    const at = now?.getBoundingClientRect();
    const box = now?.startContainer.parentElement?.closest("pre")?.getBoundingClientRect();
    return {
      all: ranges("found").map(String),
      now: now && String(now),
      isShown: !!at && at.top > 0 && at.bottom < innerHeight && (!box || at.top >= box.top),
      text: now?.startContainer.textContent?.slice(Math.max(0, now.startOffset - 2), now.endOffset + 4),
    };
  });

test("a hit in the hidden part of a long output shows it, and is marked", async ({ person, expect }) => {
  const { page } = person;
  await act(person, [
    { tool: "Bash", input: { command: "seq" }, result: `${lines(1, 90)}\nneedle here\n${lines(91, 3000)}` },
    { say: `The needle.\n\n${lines(1, 60, "- Text")}` },
  ]);
  expect(await page.getByText("needle here").count()).toBe(0);
  await find(page, "needle");
  await expect.poll(count(page)).toBe("1 of 2");
  await page.keyboard.press("Enter");
  await expect.poll(count(page)).toBe("2 of 2");
  await expect.poll(marks(page)).toMatchObject({ now: "needle", isShown: true });
  await page.locator(".output.all").waitFor();
});

test("the search walks from hit to hit in one row, and the bar covers no message", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await act(person, [{ say: "a **gull** and a gull\n\n- gu**ll** 3\n\n`gull 4` and a bird" }]);
  await find(page, "gull");
  await expect.poll(count(page)).toBe("1 of 4");
  await expect.poll(async () => (await marks(page)()).all).toEqual(Array(4).fill("gull"));
  await expect.poll(async () => (await marks(page)()).text).toBe("gull 4");
  await page.keyboard.press("Enter");
  await expect.poll(count(page)).toBe("2 of 4");
  await expect.poll(async () => (await marks(page)()).text).toMatch(/^gu/); // in two elements
  await page.keyboard.press("Shift+Enter");
  await expect.poll(count(page)).toBe("1 of 4");
  const bottom = (await bar(page).boundingBox()) ?? { y: 0, height: 0 };
  const first = await page.locator(".scroller").boundingBox();
  expect(first?.y).toBeGreaterThanOrEqual(bottom.y + bottom.height);
});

test("a turn without text has a time, a link and the inspector at its end", async ({ person, expect }) => {
  const { page } = person;
  const end = page.locator(".row.turn");
  for (const [steps, words, shown] of [
    [[{ tool: "measure", input: {}, result: "12" }], "Ready", "tool_call"],
    [[{ fail: "It does not work." }], "Failed", "user.message"],
  ] as const) {
    await act(person, [...steps], words);
    await end.locator("time").waitFor();
    await end.getByRole("button", { name: "Link to this message" }).waitFor();
    await end.getByRole("button", { name: "Inspect" }).click();
    await page.getByRole("dialog", { name: "Inspect" }).getByText(shown).first().waitFor();
    await page.keyboard.press("Escape");
  }
  expect(await end.count()).toBe(1);
});

test("a stop is told once in the log, and the stop of the server too", async ({ expect }) => {
  const server = await Server.start();
  const person = await Person.come(here.browser, server);
  try {
    await person.beKnown();
    const { page } = person;
    await person.quick("long", 0.1);
    const text = page.locator(".row.text");
    await text.waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".receipt", { hasText: "Stopped by you" }).waitFor();
    await state(page, "Stopped");
    await page.locator(".row.turn").waitFor();
    expect((await page.locator(".scroller").innerText()).match(/stopped|interrupted/gi)).toHaveLength(1);
    const id = await person.quick("long", 0.1);
    await text.waitFor();
    await server.kill();
    await server.restart();
    await page.goto(`${server.url}/c/${id}`);
    await page.locator(".failure", { hasText: "Stopped: the server was restarted" }).waitFor();
    expect(await page.locator(".receipt, .cut").count()).toBe(0);
  } finally {
    await person.leave();
    await server.stop();
  }
});

test("the fields of an unknown tool stand in lines with their names, above them on a phone", async ({
  person,
  expect,
}) => {
  const { page } = person;
  const input = {
    angle: 42,
    list: [1, 2, 3],
    a_rather_long_argument_name_here: true,
    deep: { name: "the moon", places: ["a long place in the north", "a long place in the south"] },
  };
  await act(person, [{ tool: "adjust_telescope", input, result: "seen" }]);
  const card = page.locator(".card.tool");
  expect(await card.locator(".about").innerText()).toBe("42"); // the first short value
  await card.locator("summary > .icon").last().waitFor();
  await card.locator("summary").click();
  expect(await card.locator(".about").innerText()).toBe("");
  expect(await card.locator(".label").allInnerTexts()).toEqual(["Input", "Result"]);
  const values = await card.locator(".fields dd").allInnerTexts();
  expect(values.slice(0, 3)).toEqual(["42", "[1, 2, 3]", "true"]);
  expect(values[3]).toContain('\n  "name": "the moon",\n');
  const places = () =>
    card.locator(".fields > div").evaluateAll((all) =>
      all.map((each) => {
        const [name, value] = [...each.children].map((one) => {
          const range = document.createRange();
          range.selectNodeContents(one);
          return range.getClientRects()[0] as DOMRect;
        });
        return { x: (value?.x ?? 0) - (name?.x ?? 0), y: (value?.y ?? 0) - (name?.y ?? 0) };
      }),
    );
  for (const { x, y } of await places()) {
    expect(Math.abs(y)).toBeLessThanOrEqual(2);
    expect(x).toBeLessThan(190);
  }
  await page.setViewportSize({ width: 375, height: 740 });
  for (const { x, y } of await places()) {
    expect(Math.abs(x)).toBeLessThanOrEqual(1);
    expect(y).toBeGreaterThan(10);
  }
  expect(await violations(page)).toEqual([]);
});

test("an open question is shown once, and its answer once", async ({ person, expect }) => {
  const { page } = person;
  await person.quick("ask me a question");
  await state(page, "Waiting for you");
  expect(await page.getByText("Which colour shall it be?").count()).toBe(1);
  await page.getByRole("region", { name: "Question" }).getByLabel("Blue").check();
  await page.getByRole("button", { name: "Answer" }).click();
  await state(page, "Ready");
  const card = page.locator(".card.question");
  await card.getByText("Answered by you").waitFor();
  expect((await card.innerText()).match(/Blue/g)).toHaveLength(1);
});

test("markup of an agent is no text of its answer, and an error in it is a failure", async ({
  person,
  expect,
}) => {
  const { page } = person;
  await act(person, [
    {
      tool: "Edit",
      input: { file_path: "a.py" },
      result: "<tool_use_error>It is not read.</tool_use_error>",
    },
    { say: "Before.\n<system-reminder>Be careful.</system-reminder>\nAfter." },
  ]);
  await page.locator('[data-state="failed"] .state.bad', { hasText: "failed" }).waitFor();
  await page.locator(".output.bad", { hasText: /^It is not read\.$/ }).waitFor();
  const text = page.locator(".row.text");
  await text.getByText("Note of the agent to its model").waitFor();
  expect(await text.locator(".markdown").allInnerTexts()).toEqual(["Before.", "After."]);
});

test("footnotes are numbered in the order of their first use", async ({ person, expect }) => {
  const { page } = person;
  await act(person, [{ say: "One[^b], two[^a], one[^b].\n\n[^a]: First note.\n\n[^b]: Other note." }]);
  expect(await page.locator("sup > .note-ref").allInnerTexts()).toEqual(["1", "2", "1"]);
  await page.locator(".note", { hasText: "Other note." }).getByText("1", { exact: true }).waitFor();
  for (const mark of await page.locator("sup > .note-ref").all())
    expect((await mark.boundingBox())?.width).toBeLessThan(14);
  expect(await violations(page)).toEqual([]);
});

test("colours behind text can be read in both themes", async ({ person, expect }) => {
  const { page } = person;
  const all = [...Array(8).keys()].map((n) => `\u001b[37;${40 + n}mFAIL ${n}\u001b[0m`);
  const more = [208, 220, 93].map((n) => `\u001b[38;5;${n}mText\u001b[0m \u001b[48;5;${n}mText\u001b[0m`);
  await act(person, [{ tool: "Bash", input: { command: "test" }, result: [...all, ...more].join("\n") }]);
  const red = page.locator(".ansi-on-red");
  expect(await red.evaluate((each) => getComputedStyle(each).backgroundColor)).not.toBe("rgba(0, 0, 0, 0)");
  await page.locator(".ansi-orange").waitFor();
  expect(await violations(page)).toEqual([]);
});

test("the button that quotes is below the text that three clicks select", async ({ person, expect }) => {
  const { page } = person;
  await act(person, [
    { say: "# Head\n\nShort.\n\n- item\n\nThe last." },
    { tool: "Bash", input: { command: "ls" }, result: "a" },
  ]);
  for (const name of ["h3", "p", "li", "p:last-child"]) {
    const text = page.locator(`.row.text .markdown > ${name}, .row.text .markdown > * > ${name}`).first();
    await text.click({ clickCount: 3, position: { x: 10, y: 8 } });
    const quote = page.getByRole("button", { name: "Quote" });
    await quote.waitFor();
    const right = await text.evaluate((each) => {
      const range = document.createRange();
      range.selectNodeContents(each);
      return Math.max(...[...range.getClientRects()].map((rect) => rect.right));
    });
    await expect
      .poll(async () => {
        const at = await quote.boundingBox();
        return Math.abs((at?.x ?? 0) + (at?.width ?? 0) / 2 - right);
      })
      .toBeLessThan(60);
    await page.keyboard.press("Escape");
    await page.evaluate(() => getSelection()?.removeAllRanges());
    await quote.waitFor({ state: "detached" });
  }
});

test("durations below a second are not told", async ({ person, expect }) => {
  const { page } = person;
  await act(person, [{ say: "Quick." }]);
  await page.locator(".row.turn").hover();
  expect(await page.locator(".row.turn").innerText()).not.toMatch(/\d ms/);
});

test("in Chinese no space is between a Chinese word and the next", async ({ person, expect }) => {
  const { page } = person;
  await page.goto(`${here.server.url}/new`);
  await page.evaluate(() => localStorage.setItem("turnwire:language", "zh"));
  const { id } = await here.server.ask<{ id: string }>("POST", "/api/conversations", { agent: "actor" });
  await page.goto(`${here.server.url}/c/${id}`);
  await page.locator("#composer").fill(coded([{}]));
  await page.keyboard.press("Enter");
  await page.locator(".composer .stop").click();
  await expect.poll(() => page.locator(".receipt").innerText()).toBe("您已停止");
});
