// Every state of the gallery, in both themes and on a phone: axe, the width, and the console.
// GALLERY_PICTURES=folder also takes pictures, for a person to look at.
import type { Browser } from "playwright-core";
import { build, type PreviewServer, preview } from "vite";
import { afterAll, test as base, beforeAll, describe, expect } from "vitest";
import { PAGES, STATES } from "../gallery/states";
import { violations } from "./axe";
import { openBrowser } from "./browser";
import { ROOT } from "./server";

const CONFIG = { configFile: `${ROOT}web/gallery/vite.config.ts`, logLevel: "error" } as const;
/** Colours do not depend on the size, so the phone has one theme. */
const DESK = { width: 1280, height: 860, themes: ["light", "dark"] } as const;
const PHONE = { width: 375, height: 667, themes: ["dark"] } as const;
const SIZES = [DESK, PHONE];
/** States in one test. */
const TOGETHER = 12;

let browser: Browser;
let server: PreviewServer;
let url = "";

beforeAll(async () => {
  await build(CONFIG);
  server = await preview({ ...CONFIG, preview: { port: 0, host: "127.0.0.1" } });
  url = server.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? "";
  browser = await openBrowser();
});

afterAll(async () => {
  await browser?.close();
  await server?.close();
});

/** Looks at the pages, and returns their faults. `isReady`: what a page shows in the end. */
async function faultsOf(paths: readonly string[], isReady: string): Promise<Record<string, unknown>> {
  const faults: Record<string, unknown> = {};
  const page = await browser.newPage({ reducedMotion: "reduce", locale: "en-GB" });
  const logged: string[] = [];
  page.on("pageerror", (error) => logged.push(String(error)));
  page.on("console", (message) => message.type() === "error" && logged.push(message.text()));
  for (const path of paths) {
    logged.length = 0;
    await page.setViewportSize(DESK);
    await page.goto(url + path);
    await page.locator(isReady).first().waitFor();
    await page.waitForTimeout(350); // longer than what appears late, such as banners and the buttons of a request
    for (const size of SIZES) {
      await page.setViewportSize(size);
      const found: string[] = await violations(page, size.themes);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      if (width > size.width) found.push(`${width} pixels wide`);
      if (found.length) faults[`${path} at ${size.width}`] = found;
    }
    if (logged.length) faults[`${path}: console`] = [...logged];
    if (process.env.GALLERY_PICTURES) await pictures(page, path);
  }
  await page.close();
  return faults;
}

/** Returns the parts of a list, so that each has a test of its own. */
function parts(list: readonly string[]): string[][] {
  const count = Math.ceil(list.length / TOGETHER);
  return Array.from({ length: count }, (_, at) => list.slice(at * TOGETHER, (at + 1) * TOGETHER));
}

/** Takes pictures for a person to look at, into the folder GALLERY_PICTURES. */
async function pictures(page: Awaited<ReturnType<Browser["newPage"]>>, path: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const size of SIZES) {
      await page.setViewportSize(size);
      const name = `${path.replace(/\W+/g, "-")}-${colorScheme}-${size.width}.png`;
      await page.screenshot({ path: `${process.env.GALLERY_PICTURES}/${name}` });
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
}

describe("the gallery", () => {
  const talks = parts(STATES.map(({ id }) => `/c/${id}`));
  base.each(talks)("shows conversations without faults, from %s", async (...paths) => {
    expect(await faultsOf(paths, ".row, .empty, .timeline .end")).toEqual({});
  });

  base("does not draw a diagram that grows", async () => {
    const page = await browser.newPage();
    const loaded: string[] = [];
    page.on("request", (request) => loaded.push(new URL(request.url()).pathname));
    await page.goto(`${url}/c/message-growing-answer`);
    await page.locator("figure.code code", { hasText: "graph TD" }).waitFor();
    await page.waitForTimeout(500);
    expect(loaded.filter((each) => /diagram/i.test(each))).toEqual([]);
    await page.close();
  });

  base("shows each other page without faults", async () => {
    expect(await faultsOf(Object.keys(PAGES), "h1, h2")).toEqual({});
  });

  const ids = STATES.filter((each) => each.ending === undefined).map(({ id }) => `?state=${id}`);
  const components = parts(["", "?state=inbox", ...ids].map((query) => `/components.html${query}`));
  base.each(components)("shows components without faults, from %s", async (...paths) => {
    expect(await faultsOf(paths, "h1")).toEqual({});
  });
});
