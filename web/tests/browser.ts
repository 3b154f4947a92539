// A real browser, and what tests do in it.
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

/** The one browser of this run, which setup.ts has started. */
export function openBrowser(): Promise<Browser> {
  return chromium.connect(inject("browser"));
}

/** A machine may have much else to do: an agent may take a minute to start, and then it has to answer. */
const TIMEOUT = 150_000;
const VIEWPORT = { width: 1280, height: 860 };

/** Presses a button that a row shows while the mouse is on it. The list may move its rows meanwhile: then the mouse comes again. */
export async function pressIn(row: Locator, name: string): Promise<void> {
  for (const end = Date.now() + TIMEOUT; ; ) {
    await row.hover();
    try {
      return await row.getByRole("button", { name }).click({ timeout: 2000 });
    } catch (moved) {
      if (Date.now() > end) throw moved;
    }
  }
}

/** Somebody in a window of their own. What goes wrong in its pages is kept. */
export class Person {
  readonly problems: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly server: Server,
  ) {}

  /** With an empty page. */
  static async come(browser: Browser, server: Server, options: BrowserContextOptions = {}): Promise<Person> {
    const context = await browser.newContext({
      locale: "en-GB",
      viewport: VIEWPORT,
      reducedMotion: "reduce", // to draw what moves costs more than all the rest
      ...options,
    });
    context.setDefaultTimeout(TIMEOUT);
    const person = new Person(context, await context.newPage(), server);
    person.watch(person.page);
    return person;
  }

  /** Is let in, by a cookie or through a link, and is shown the first page. */
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

  /** Has what a link is exchanged for. */
  async beKnown(): Promise<void> {
    const { cookies, pageKey } = await this.server.entered();
    await this.context.addCookies(cookies);
    await this.context.addInitScript(
      ([origin, key]) => {
        if (location.origin === origin) localStorage.setItem("turnwire:page:/", key);
      },
      [this.server.url, pageKey] as const,
    );
  }

  async goHome(link = `${this.server.url}/`): Promise<void> {
    await this.page.goto(link);
    await this.page.locator("nav.sidebar").waitFor({ state: "attached" }); // on a phone it is out of sight
  }

  /** Another tab. */
  async tab(path: string): Promise<Page> {
    const page = await this.context.newPage();
    this.watch(page);
    await page.goto(this.server.url + path);
    return page;
  }

  private watch(page: Page): void {
    page.on("pageerror", (error) => this.problems.push(String(error)));
    page.on("console", (message) => {
      // A server that is gone, or that refuses, is no fault of the page's.
      if (
        message.type() === "error" &&
        !/Failed to load resource|WebSocket connection|ERR_/.test(message.text())
      ) {
        this.problems.push(message.text());
      }
    });
  }

  /** Begins a conversation with these words. Its id. */
  async begin(words: string, page: Page = this.page): Promise<string> {
    await page.goto(`${this.server.url}/new`);
    await page.getByLabel("What do you want to say?").fill(words);
    await page.getByRole("button", { name: "Begin" }).click();
    await page.waitForURL(/\/c\//);
    return decodeURIComponent(new URL(page.url()).pathname.slice(3));
  }

  /** The same without filling in the form; `delay`: for an agent that speaks slower. */
  async quick(words: string, delay?: number): Promise<string> {
    const options = delay === undefined ? {} : { delay };
    const { id } = await this.server.ask<{ id: string }>("POST", "/api/conversations", { options });
    await this.page.goto(`${this.server.url}/c/${id}`);
    await say(this.page, words);
    return id;
  }

  /** Nothing may have gone wrong in any of their pages. */
  async leave(): Promise<void> {
    await this.context.close();
    deepEqual(this.problems, []);
  }

  /** The same, and the next one finds the window as if it were new: to open one costs a second. */
  async makeRoom(): Promise<void> {
    const { context, page } = this;
    await Promise.all(context.pages().map((each) => each !== page && each.close()));
    // A page without anything, but of the same kind: the browser need not begin another process.
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

/** What people have said here. To be polled: rows out of sight may be missing until the list is at rest. */
export const saidOn = (page: Page) => (): Promise<string[]> => page.locator(".row.said").allInnerTexts();

/** Waits until the conversation is in this state, in words. */
export async function state(page: Page, words: string): Promise<void> {
  await page.locator(".state-words", { hasText: new RegExp(`^${words}$`) }).waitFor();
}
