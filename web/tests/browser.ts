// A real browser, and what tests do in it.
import { deepEqual } from "node:assert/strict";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from "playwright-core";
import type { Server } from "./server";

const PLACES = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

export async function openBrowser(): Promise<Browser> {
  const { existsSync } = await import("node:fs");
  const executablePath = PLACES.find((place) => place && existsSync(place));
  if (!executablePath)
    throw new Error("There is no Chromium. Install it, or say where it is: CHROMIUM=/path make test");
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A browser of its own that is let in. What goes wrong in its pages is kept. */
export class Person {
  readonly problems: string[] = [];

  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    private readonly server: Server,
  ) {}

  static async enter(
    browser: Browser,
    server: Server,
    options: BrowserContextOptions = {},
    link?: string,
  ): Promise<Person> {
    const context = await browser.newContext({
      locale: "en-GB",
      viewport: { width: 1280, height: 860 },
      ...options,
    });
    if (link === undefined) await context.addCookies(await server.cookies());
    const page = await context.newPage();
    const person = new Person(context, page, server);
    person.watch(page);
    await page.goto(link ?? `${server.url}/`);
    await page.locator("nav.sidebar").waitFor({ state: "attached" }); // on a phone it is out of sight
    return person;
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

  /** The same with an agent that speaks fast, and without filling in the form. */
  async quick(words: string, delay = 0.004): Promise<string> {
    const { id } = await this.server.ask<{ id: string }>("POST", "/api/conversations", {
      options: { delay },
    });
    await this.page.goto(`${this.server.url}/c/${id}`);
    await say(this.page, words);
    return id;
  }

  /** Nothing may have gone wrong in any of their pages. */
  async leave(): Promise<void> {
    deepEqual(this.problems, []);
    await this.context.close();
  }
}

export async function say(page: Page, words: string): Promise<void> {
  await page.getByLabel("Message", { exact: true }).fill(words);
  await page.getByRole("button", { name: /^Send/ }).click();
}

/** Waits until the conversation is in this state, in words. */
export async function state(page: Page, words: string): Promise<void> {
  await page.locator(".state-words", { hasText: new RegExp(`^${words}$`) }).waitFor();
}
