// The size of what a browser loads before the page can be used.
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { ROOT } from "./server";

test("the JavaScript that is loaded before anything on demand is at most 180 kB, gzipped", () => {
  const folder = `${ROOT}src/turnwire/web/`;
  const page = readFileSync(`${folder}index.html`, "utf8");
  const scripts = [...page.matchAll(/(?:src|href)="\.?\/?(assets\/[^"]+\.js)"/g)].map(([, path]) => path);
  expect(scripts.length).toBeGreaterThan(0);
  const sizes = scripts.map((path) => gzipSync(readFileSync(folder + path), { level: 9 }).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(180_000);
});
