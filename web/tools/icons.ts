// Draws the PNG icons of the installed page from icon.svg.
import { readFileSync } from "node:fs";
import { test } from "vitest";
import { openBrowser } from "../tests/browser";
import { ROOT } from "../tests/server";

const FOLDER = `${ROOT}web/public/`;
const SVG = readFileSync(`${FOLDER}icon.svg`, "utf8");
/** A system may cut a maskable icon to a circle: it has no corners, and its drawing is in the middle. */
const MASKABLE = SVG.replace('rx="8"', "")
  .replace('viewBox="0 0 32 32"', 'viewBox="-5 -5 42 42"')
  .replace('<rect width="32" height="32"', '<rect x="-5" y="-5" width="42" height="42"');

test("icons", async () => {
  const browser = await openBrowser();
  const page = await browser.newPage();
  for (const [name, size, svg] of [
    ["icon-192", 192, SVG],
    ["icon-512", 512, SVG],
    ["icon-maskable", 512, MASKABLE],
  ] as const) {
    await page.setViewportSize({ width: size, height: size });
    await page.setContent(`<style>body { margin: 0 } svg { display: block }</style>${svg}`);
    await page.screenshot({ path: `${FOLDER}${name}.png`, omitBackground: true });
  }
  await browser.close();
});
