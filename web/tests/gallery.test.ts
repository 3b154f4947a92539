// Every state of the gallery: axe, the width, the lines and the console, in both themes and languages.
// GALLERY_PICTURES=folder also takes pictures, for a person to look at.
import type { Browser, Page } from "playwright-core";
import { build, type PreviewServer, preview } from "vite";
import { afterAll, test as base, beforeAll, describe, expect } from "vitest";
import { OPENED } from "../gallery/opened";
import { PAGES, STATES } from "../gallery/states";
import { violations } from "./axe";
import { openBrowser } from "./browser";
import { layoutFaults } from "./layout";
import { ROOT } from "./server";

const CONFIG = { configFile: `${ROOT}web/gallery/vite.config.ts`, logLevel: "error" } as const;
const THEMES = ["light", "dark"] as const;
interface Size {
  width: number;
  height: number;
  /** The themes in which axe looks. Colours do not depend on the size, so only one size has both. */
  themes: readonly ("light" | "dark")[];
}
const DESK: Size = { width: 1280, height: 800, themes: THEMES };
const PHONE: Size = { width: 375, height: 667, themes: ["dark"] };
const WIDE: Size = { width: 2560, height: 1440, themes: ["light"] };
const SIZES = [DESK, PHONE, WIDE];
/** Only the layout: axe has seen the same elements at another size, or in another language. */
const withoutAxe = (size: Size): Size => ({ ...size, themes: [] });
const LANGUAGES = { en: "en-GB", zh: "zh-CN" };
type Language = keyof typeof LANGUAGES;
/** States in one test. */
const TOGETHER = 12;
const PICTURES = process.env.GALLERY_PICTURES;

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

/** A page to look at. `again`: it is loaded at each size, because a menu closes when the size changes. */
interface View {
  name: string;
  path: string;
  /** A CSS selector of what the page shows in the end. */
  isReady: string;
  sizes?: readonly Size[];
  /** Whether axe looks at the list of conversations, too. It is the same in most states, and long. */
  withList?: boolean;
  again?: boolean;
}

/** Looks at the pages, and returns their faults. */
async function faultsOf(views: readonly View[], language: Language = "en"): Promise<Record<string, unknown>> {
  const faults: Record<string, unknown> = {};
  const page = await browser.newPage({ reducedMotion: "reduce", locale: LANGUAGES[language] });
  const logged: string[] = [];
  page.on("pageerror", (error) => logged.push(String(error)));
  page.on("console", (message) => message.type() === "error" && logged.push(message.text()));
  for (const { name, path, isReady, sizes = SIZES, again = false, withList = false } of views) {
    logged.length = 0;
    for (const size of sizes) {
      await page.setViewportSize(size);
      if (again || size === sizes[0]) {
        await page.goto(url + path);
        const isShown = await page
          .locator(isReady)
          .first()
          .waitFor()
          .then(
            () => true,
            () => false,
          );
        if (!isShown) {
          faults[`${name} at ${size.width}`] = `${isReady} is not shown`;
          break;
        }
        await page.waitForTimeout(350); // longer than what appears late, such as banners and the buttons of a request
      }
      const found = [
        ...(await violations(page, size.themes, withList ? [] : [".sidebar"])),
        ...(await layoutFaults(page, size.width)),
      ];
      if (found.length) faults[`${name} at ${size.width}`] = found;
      if (PICTURES) await pictures(page, `${name}.${size.width}`, language);
    }
    const unexpected = logged.filter((each) => !/healthz|503/.test(each)); // the server of the offline page
    if (unexpected.length) faults[`${name}: console`] = unexpected;
  }
  await page.close();
  return faults;
}

/** Returns the parts of a list, so that each has a test of its own. */
function parts(list: readonly View[], together = TOGETHER): { first: string; views: View[] }[] {
  return Array.from({ length: Math.ceil(list.length / together) }, (_, at) => {
    const views = list.slice(at * together, (at + 1) * together);
    return { first: views[0]?.name ?? "", views };
  });
}

/** Takes pictures for a person to look at, into the folder GALLERY_PICTURES. */
async function pictures(page: Page, name: string, language: Language): Promise<void> {
  for (const colorScheme of THEMES) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: `${PICTURES}/${name}.${colorScheme}.${language}.png` });
  }
  await page.emulateMedia({ colorScheme: "light" });
}

const nameOf = (path: string) =>
  path
    .replace(/^\/c\//, "")
    .replace(/\W+/g, "-")
    .replace(/^-|-$/g, "") || "start";

const TALKS: View[] = STATES.map(({ id }) => ({
  name: id,
  path: `/c/${id}`,
  isReady: ".row, .empty, .timeline .end",
  sizes: [DESK, PHONE, withoutAxe(WIDE)],
}));
const OTHERS: View[] = Object.keys(PAGES).map((path) => ({
  name: nameOf(path),
  path,
  isReady: "main h1, main h2, .entry-page h1, main .skeleton, main.offline",
  withList: true,
}));
const OPEN: View[] = OPENED.map(({ name, path, isNarrow, isWide }) => ({
  name: `open-${name}`,
  path: `${path}?open=${name}`,
  isReady: "html[data-open]",
  sizes: isNarrow ? [PHONE] : isWide ? [DESK, WIDE] : SIZES,
  again: true,
  withList: path === "/inbox" || isNarrow === true, // what is opened there is in the list
}));

describe("the gallery", () => {
  base.each(parts(TALKS))("shows conversations without faults, from $first", async ({ views }) => {
    expect(await faultsOf(views)).toEqual({});
  });

  // Words differ in their length, and need the same space in each size: the phone has the least.
  const phone = TALKS.map((each) => ({ ...each, sizes: (PICTURES ? SIZES : [PHONE]).map(withoutAxe) }));
  base.each(parts(phone, 2 * TOGETHER))(
    "shows conversations in Chinese on a phone, from $first",
    async ({ views }) => {
      expect(await faultsOf(views, "zh")).toEqual({});
    },
  );

  for (const language of ["en", "zh"] as const) {
    base(`shows each other page without faults, in ${language}`, async () => {
      expect(await faultsOf(OTHERS, language)).toEqual({});
    });

    base.each(parts(OPEN, TOGETHER / 2))(
      `opens dialogs, menus and bars without faults, in ${language}, from $first`,
      async ({ views }) => {
        expect(await faultsOf(views, language)).toEqual({});
      },
    );
  }

  base("offers ideas in an empty conversation, which the person reads before sending", async () => {
    const page = await browser.newPage({ locale: "en-GB" });
    await page.goto(`${url}/c/empty-no-message-yet`);
    const ideas = page.getByRole("group", { name: "Try" }).getByRole("button");
    const first = (await ideas.first().innerText()).trim();
    await ideas.first().click();
    const field = page.getByLabel("Message", { exact: true });
    await expect.poll(() => field.inputValue()).toBe(first);
    await expect.poll(() => field.evaluate((each) => each === document.activeElement)).toBe(true);
    expect(await page.locator(".row").count()).toBe(0);
    await page.close();
  });

  base("has lines of prose that are easy to read, in the middle of its column", async () => {
    const page = await browser.newPage({ reducedMotion: "reduce", locale: "en-GB" });
    for (const { width, height } of SIZES) {
      await page.setViewportSize({ width, height });
      await page.goto(`${url}/c/message-prose`);
      await page.locator(".row.text .markdown p").first().waitFor();
      const { most, off } = await page.evaluate(() => {
        const [text] = document.querySelectorAll(".row.text .markdown p");
        const lines = document.createRange();
        lines.selectNodeContents(text as Node);
        const count = new Set([...lines.getClientRects()].map((each) => Math.round(each.top))).size;
        const middle = (each: Element | null) => {
          const at = each?.getBoundingClientRect();
          return at ? at.left + at.width / 2 : Number.NaN;
        };
        return {
          most: (text?.textContent?.length ?? 0) / count,
          off: [".place", ".composer"].map((each) =>
            Math.abs(middle(document.querySelector(each)) - middle(document.querySelector("#main"))),
          ),
        };
      });
      expect(most, `characters in a line at ${width}`).toBeLessThanOrEqual(96);
      expect(most, `characters in a line at ${width}`).toBeGreaterThan(width < 600 ? 30 : 65);
      for (const each of off) expect(each, `pixels off the middle at ${width}`).toBeLessThanOrEqual(8);
    }
    await page.close();
  });

  base("lists the conversations that the chosen label leaves", async () => {
    const page = await browser.newPage({ locale: "en-GB" });
    await page.goto(`${url}/inbox?open=filtered`);
    await page.locator("html[data-open]").waitFor();
    const left = STATES.filter(({ labels, archived }) => !archived && labels?.includes("birds"));
    await expect.poll(() => page.locator(".list .entry").count()).toBe(left.length);
    await page.close();
  });

  base("shows no sign of work in a question that was answered", async () => {
    const page = await browser.newPage({ locale: "en-GB" });
    await page.goto(`${url}/c/tool-question-answered`);
    await page.locator(".row.turn").waitFor();
    expect(await page.locator("#main .spinner").count()).toBe(0);
    await page.close();
  });

  base("describes agents in the language of the page, and copies the command that one needs", async () => {
    const page = await browser.newPage({ locale: "zh-CN" });
    await page.goto(url);
    await page.getByText("Codex，OpenAI 的编程智能体。").waitFor();
    const copied = page.evaluate(
      () =>
        new Promise<string>((done) => {
          navigator.clipboard.writeText = async (text) => done(text);
        }),
    );
    await page.locator(".agent-card summary").click();
    await page.locator(".agent-card .command button").click();
    expect(await copied).toBe("pip install turnwire[codex]");
    await page.close();
  });

  base("writes the choices of the theme, and keeps Chinese buttons in one line on a phone", async () => {
    const page = await browser.newPage({ locale: "zh-CN", viewport: { width: 375, height: 667 } });
    for (const [path, texts] of [
      ["/inbox?open=preferences", ["浅色", "深色"]],
      ["/c/message-whole-answer?open=labels", ["添加"]],
      ["/c/message-whole-answer?open=share", ["终止"]],
    ] as const) {
      await page.goto(url + path);
      await page.locator("html[data-open]").waitFor();
      for (const text of texts) {
        const shown = page.locator("button:visible", { hasText: text }).first();
        const lines = await shown.evaluate((each) => {
          const range = document.createRange();
          range.selectNodeContents(each);
          const rows = [...range.getClientRects()].filter((part) => part.width > 0);
          return Math.max(...rows.map((part) => part.top)) - Math.min(...rows.map((part) => part.top));
        });
        expect(lines, text).toBeLessThan(10);
      }
    }
    await page.close();
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

  const ids = STATES.filter((each) => each.ending === undefined).map(({ id }) => `?state=${id}`);
  const shown = ["", "?state=inbox", "?state=conversations", ...ids];
  const components = shown.map((query) => ({
    name: `components-${query.split("=")[1] ?? "list"}`,
    path: `/components.html${query}`,
    isReady: "h1",
    sizes: [{ ...DESK, themes: ["light"] }, PHONE] satisfies Size[],
  }));
  base.each(parts(components))("shows components without faults, from $first", async ({ views }) => {
    expect(await faultsOf(views)).toEqual({});
  });

  const styled = components.slice(1).map(({ name, path }) => ({
    name: `styled-${name}`,
    path: `${path}&styled`,
    isReady: "h1",
    sizes: [DESK, withoutAxe(PHONE)],
  }));
  base.each(parts(styled))(
    "shows components with our style sheet without faults, from $first",
    async (part) => {
      expect(await faultsOf(part.views)).toEqual({});
    },
  );
});
