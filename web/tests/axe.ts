// Accessibility checks with axe.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The sizes of a phone and of a desk. */
const SIZES = [
  { width: 1280, height: 800 },
  { width: 375, height: 667 },
];

/**
 * Returns what axe finds on a page in both languages, both themes and at two sizes. What is open stays
 * open; `isFixed`: a menu, which closes when the size changes.
 */
export async function violationsEverywhere(page: Page, isFixed = false): Promise<string[]> {
  const before = page.viewportSize();
  const found: string[] = [];
  for (const size of isFixed ? [before] : SIZES) {
    if (size && !isFixed) await page.setViewportSize(size);
    for (const language of ["zh", "en"]) {
      await page.evaluate((language) => {
        localStorage.setItem("turnwire:language", language);
        dispatchEvent(new StorageEvent("storage")); // as another tab would tell it
      }, language);
      await page.waitForFunction((language) => document.documentElement.lang.startsWith(language), language);
      found.push(...(await violations(page)).map((each) => `${size?.width}, ${language}, ${each}`));
    }
  }
  await page.evaluate(() => {
    localStorage.removeItem("turnwire:language");
    dispatchEvent(new StorageEvent("storage"));
  });
  if (before && !isFixed) await page.setViewportSize(before);
  return found;
}

/** Returns what axe finds, by default in both themes, outside of the elements of some CSS selectors. DevTools load its script, so the page's policy does not block it. */
export async function violations(
  page: Page,
  themes: readonly ("light" | "dark")[] = ["light", "dark"],
  except: readonly string[] = [],
): Promise<string[]> {
  if (!themes.length) return [];
  const session = await page.context().newCDPSession(page);
  await session.send("Runtime.evaluate", { expression: `"axe" in window || (() => { ${axe} })()` });
  const found: string[] = [];
  for (const colorScheme of themes) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(async () => {
      await new Promise(requestAnimationFrame); // the transitions of the theme have started
      await Promise.allSettled(document.getAnimations().map((each) => each.finished));
    });
    const { result } = await session.send("Runtime.evaluate", {
      expression: `axe.run({ exclude: ${JSON.stringify(except)} }, { resultTypes: ["violations"] }).then(({ violations }) =>
        violations.flatMap((each) => each.nodes.map((node) => each.id + ": " + node.html.slice(0, 160) + " " + (node.failureSummary ?? "").slice(0, 200))))`,
      awaitPromise: true,
      returnByValue: true,
    });
    found.push(...result.value.map((each: string) => `${colorScheme}: ${each}`));
  }
  await page.emulateMedia({ colorScheme: "light" });
  await session.detach();
  return found;
}
