// Measures the page in a real browser, as ratios within one run where that is possible.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, test } from "vitest";
import { openBrowser, Person, say, state } from "../tests/browser";
import { ROOT, Server } from "../tests/server";

/** Seconds between two pieces of an answer: the demo's own. */
const PACE = 0.03;
let browser: Browser;
let server: Server;

beforeAll(async () => {
  const start = Server.start({ TURNWIRE_AGENT_OPTIONS: JSON.stringify({ demo: { delay: PACE } }) });
  [browser, server] = await Promise.all([openBrowser(), start]);
  server.python("seed", "long", "10000");
});
afterAll(async () => {
  await browser.close();
  await server.stop();
});

/** With animations, as most people have it. */
const MOVING = { reducedMotion: "no-preference" } as const;

function print(name: string, value: string, target: string): void {
  console.log(`${name.padEnd(62)} ${value.padStart(10)}   target ${target}`);
}

/** Returns a function that returns the seconds of work of the page since its last call. */
async function watch(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const worked = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find((each) => each.name === "TaskDuration")?.value ?? 0;
  };
  let last = await worked();
  return async () => {
    const before = last;
    last = await worked();
    return last - before;
  };
}

async function streamInto(page: Page): Promise<number> {
  const worked = await watch(page);
  await say(page, "a long answer");
  await state(page, "Working");
  await state(page, "Ready");
  return worked();
}

test("size", () => {
  const folder = `${ROOT}src/turnwire/web/assets/`;
  const own = readdirSync(folder).filter((name) => name.startsWith("index-") && name.endsWith(".js"));
  const bytes = own.reduce(
    (sum, name) => sum + gzipSync(readFileSync(folder + name), { level: 9 }).length,
    0,
  );
  print("JavaScript before highlighting, gzipped", `${(bytes / 1000).toFixed(1)} kB`, "180 kB");
});

test("deltas", { timeout: 300_000 }, async () => {
  const person = await Person.enter(browser, server, MOVING);
  const { page } = person;
  page.setDefaultTimeout(120_000);
  await person.quick("hello", PACE);
  await state(page, "Ready");
  const empty = await streamInto(page);
  await page.goto(`${server.url}/c/long`);
  await state(page, "Ready");
  // Loads entries with 1,500 blocks in total.
  await page.goto(`${server.url}/c/long?at=${10_000 - 2000}`);
  await page.locator(".sought").waitFor();
  await page.getByRole("button", { name: "Go to the newest message" }).click();
  const full = await streamInto(page);
  print("an answer in pieces, with 1,500 blocks against none", `${(full / empty).toFixed(2)} x`, "2 x");
  await person.leave();
});

test("two tabs", { timeout: 300_000 }, async () => {
  const person = await Person.enter(browser, server, MOVING);
  const id = await person.quick("hello", PACE);
  await state(person.page, "Ready");
  const other = await Person.enter(browser, server, MOVING);
  await other.page.goto(`${server.url}/c/${id}`);
  await state(other.page, "Ready");
  for (const { page } of [person, other]) {
    await page.evaluate(() => {
      const seen: [number, number][] = [];
      Object.assign(window, { seen });
      const look = () => {
        const length = [...document.querySelectorAll(".markdown")].at(-1)?.textContent?.length ?? 0;
        if (length > (seen.at(-1)?.[0] ?? 0)) seen.push([length, performance.timeOrigin + performance.now()]);
      };
      new MutationObserver(look).observe(document.body, {
        childList: true,
        subtree: true,
        characterData: true,
      });
    });
  }
  await say(person.page, "a long answer");
  const isFar = () => ((window as unknown as { seen: [number, number][] }).seen.at(-1)?.[0] ?? 0) > 3000;
  await Promise.all([person.page.waitForFunction(isFar), other.page.waitForFunction(isFar)]);
  const seen = (page: Page) => page.evaluate(() => (window as unknown as { seen: [number, number][] }).seen);
  const [first, second] = [await seen(person.page), await seen(other.page)];
  // Ignores the first pieces: the previous answer was longer.
  const lags = first
    .filter(([length]) => length > 500 && length < 3000)
    .map(([length, at]) =>
      Math.max(0, (second.find((each) => each[0] >= length)?.[1] ?? Number.POSITIVE_INFINITY) - at),
    )
    .sort((one, another) => one - another);
  const p99 = lags[Math.min(lags.length - 1, Math.floor(lags.length * 0.99))] ?? 0;
  print(`a piece in the second tab after the first, p99 of ${lags.length}`, `${p99.toFixed(0)} ms`, "100 ms");
  await person.leave();
  await other.leave();
});

/** Returns the milliseconds of processor time of each task of the page. */
function tasksIn(trace: Buffer): number[] {
  interface Traced {
    name: string;
    pid: number;
    tid: number;
    tdur?: number;
  }
  const all = (JSON.parse(trace.toString()) as { traceEvents: Traced[] }).traceEvents;
  const drawing = all.find((each) => each.name === "UpdateLayoutTree");
  return all
    .filter((each) => each.name === "RunTask" && each.pid === drawing?.pid && each.tid === drawing.tid)
    .map((each) => (each.tdur ?? 0) / 1000);
}

test("scrolling", { timeout: 300_000 }, async () => {
  const person = await Person.enter(browser, server, MOVING);
  const { page } = person;
  await page.goto(`${server.url}/c/long`);
  await state(page, "Ready");
  await page.locator(".row.turn").last().waitFor();
  await browser.startTracing(page, {
    categories: ["devtools.timeline", "disabled-by-default-devtools.timeline"],
  });
  const { tasks, rows, steps } = await page.evaluate(async () => {
    const tasks: number[] = [];
    let rows = 0;
    let steps = 0;
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map((each) => each.duration))).observe({
      type: "longtask",
    });
    const scroller = document.querySelector(".scroller") as HTMLElement;
    while (!document.body.textContent?.includes("Question 1A") && steps < 3000) {
      scroller.scrollBy(0, -500);
      await new Promise(requestAnimationFrame);
      rows = Math.max(rows, document.querySelectorAll(".row").length);
      steps += 1;
    }
    return { tasks, rows, steps };
  });
  const worked = tasksIn(await browser.stopTracing());
  print(`rows in the document while scrolling (${steps} steps)`, String(rows), "200");
  print("tasks over 50 ms while scrolling through 10,000 messages", String(tasks.length), "0");
  if (tasks.length) print("  the longest of them", `${Math.max(...tasks).toFixed(0)} ms`, "50 ms");
  // On a busy machine a task also waits for the processor. Only its own processor time is the page's.
  print("  those that were at work for so long", String(worked.filter((each) => each > 50).length), "0");
  print("  the most work in one of them", `${Math.max(...worked).toFixed(0)} ms`, "50 ms");
  await person.leave();
});
