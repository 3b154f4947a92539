// A real browser, and the actions of tests in it.
import { deepEqual } from "node:assert/strict";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from "playwright-core";
import { inject } from "vitest";
import type { Server } from "./server";

/** Connects to the browser of this run, which setup.ts has started. */
export function openBrowser(): Promise<Browser> {
  return chromium.connect(inject("browser"));
}

/** Milliseconds. On a busy machine an agent may need a minute to start. */
const TIMEOUT = 150_000;
const VIEWPORT = { width: 1280, height: 860 };

/**
 * Presses a button that a row shows while the mouse is over it. Retries if the list moves the row meanwhile.
 * A click that has timed out may have been made: only the attempt to reach the button is repeated.
 */
export async function pressIn(row: Locator, name: string): Promise<void> {
  const button = row.getByRole("button", { name });
  for (const end = Date.now() + TIMEOUT; ; ) {
    await row.hover();
    try {
      await button.click({ timeout: 2000, trial: true });
      break;
    } catch (moved) {
      if (Date.now() > end) throw moved;
    }
  }
  await button.dispatchEvent("click");
}

/** A person with a browser window. Records the errors of its pages. */
export class Person {
  readonly problems: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly server: Server,
  ) {}

  /** Returns a person with an empty page. */
  static async come(browser: Browser, server: Server, options: BrowserContextOptions = {}): Promise<Person> {
    const context = await browser.newContext({
      locale: "en-GB",
      viewport: VIEWPORT,
      serviceWorkers: "block", // a worker would answer instead of the routes of tests
      reducedMotion: "reduce", // drawing animations costs more than everything else
      ...options,
    });
    context.setDefaultTimeout(TIMEOUT);
    const person = new Person(context, await context.newPage(), server);
    person.watch(person.page);
    return person;
  }

  /** Signs in, by a cookie or through a link, and opens the start page. */
  static async enter(
    browser: Browser,
    server: Server,
    options: BrowserContextOptions = {},
    link?: string,
  ): Promise<Person> {
    const person = await Person.come(browser, server, options);
    if (link === undefined) await person.beKnown();
    await person.goHome(link);
    return person;
  }

  /** Stores the cookie and the page key of a signed-in user. */
  async beKnown(): Promise<void> {
    const { cookies, pageKey } = await this.server.entered();
    await this.context.addCookies(cookies);
    await this.context.addInitScript(
      ([origin, key]) => {
        if (self.origin === origin) localStorage.setItem("turnwire:page:/", key);
      },
      [this.server.url, pageKey] as const,
    );
  }

  async goHome(link = `${this.server.url}/`): Promise<void> {
    await this.page.goto(link);
    await this.page.locator("nav.sidebar").waitFor({ state: "attached" }); // on a phone it is hidden
  }

  /** Opens another tab. */
  async tab(path: string): Promise<Page> {
    const page = await this.context.newPage();
    this.watch(page);
    await page.goto(this.server.url + path);
    return page;
  }

  private watch(page: Page): void {
    page.on("pageerror", (error) => this.problems.push(String(error)));
    page.on("console", (message) => {
      // Ignores errors of the server: a refusal, or a lost connection.
      if (
        message.type() === "error" &&
        !/Failed to load resource|WebSocket connection|ERR_/.test(message.text())
      ) {
        this.problems.push(message.text());
      }
    });
  }

  /** Starts a conversation with this message. Returns its id. */
  async begin(words: string, page: Page = this.page): Promise<string> {
    await page.goto(`${this.server.url}/new`);
    await page.getByLabel("What do you want to say?").fill(words);
    await page.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/\/c\//);
    return decodeURIComponent(new URL(page.url()).pathname.slice(3));
  }

  /** Does the same without the form. `delay`: seconds between two pieces of the agent's output. */
  async quick(words: string, delay?: number): Promise<string> {
    const options = delay === undefined ? {} : { delay };
    const { id } = await this.server.ask<{ id: string }>("POST", "/api/conversations", { options });
    await this.page.goto(`${this.server.url}/c/${id}`);
    await say(this.page, words);
    return id;
  }

  /** Closes the window. Fails if one of its pages had an error. */
  async leave(): Promise<void> {
    await this.context.close();
    deepEqual(this.problems, []);
  }

  /** Resets the window for the next test, because opening a window takes a second. */
  async makeRoom(): Promise<void> {
    const { context, page } = this;
    await Promise.all(context.pages().map((each) => each !== page && each.close()));
    // An empty page with the same headers, so that the browser keeps its process.
    const headers = { "Cross-Origin-Opener-Policy": "same-origin", "Content-Type": "text/html" };
    await page.route(`${this.server.url}/nothing`, (route) => route.fulfill({ headers, body: "" }));
    await page.goto(`${this.server.url}/nothing`);
    await page.unrouteAll();
    await page.evaluate(() => localStorage.clear());
    await context.clearPermissions();
    await context.setOffline(false);
    await page.setViewportSize(VIEWPORT);
    deepEqual(this.problems, []);
  }
}

export async function say(page: Page, words: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(words);
  await page.getByRole("button", { name: /^Send/ }).click();
}

/** Returns the messages of people. Poll it: hidden rows may be missing until the list has settled. */
export const saidOn = (page: Page) => (): Promise<string[]> =>
  page.locator(".row.said .bubble").allInnerTexts();

/** Returns the button of a menu in which one value is chosen. */
export const menuOf = (page: Page, label: string): Locator =>
  page.getByRole("button", { name: new RegExp(`^${label}: `) });

/** Chooses a value in a menu. */
export async function choose(page: Page, label: string, value: string): Promise<void> {
  await menuOf(page, label).click();
  await page.getByRole("menu").locator(`[data-value="${value}"]`).click();
}

/** Returns the chosen value of a menu. */
export const chosenOf = (page: Page, label: string) => (): Promise<string | null> =>
  menuOf(page, label).getAttribute("data-value");

/** Waits until the conversation shows this state. */
export async function state(page: Page, words: string): Promise<void> {
  await page.locator(".state-words", { hasText: new RegExp(`^${words}$`) }).waitFor();
}

/** Records what this page copies. The clipboard itself belongs to all windows of the browser. */
export async function recordCopies(page: Page): Promise<() => Promise<string>> {
  await page.evaluate(() => {
    const copied: string[] = [];
    Object.assign(window, { copied });
    navigator.clipboard.writeText = async (text) => void copied.push(text);
  });
  return () => page.evaluate(() => (window as unknown as { copied: string[] }).copied.at(-1) ?? "");
}
