// The style sheets themselves, without a browser.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ROOT } from "./server";

const FOLDER = `${ROOT}web/src/style/`;
const sheets = new Map(
  readdirSync(FOLDER)
    .filter((each) => each.endsWith(".css"))
    .map((name) => [name, readFileSync(FOLDER + name, "utf8")]),
);
const all = [...sheets.values()].join("\n");

test("every custom property that a style uses has a value", () => {
  const set = new Set([...all.matchAll(/(--[\w-]+)\s*:/g)].map(([, name]) => name));
  const used = [...all.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name);
  expect(used.length).toBeGreaterThan(100);
  expect(used.filter((name) => !set.has(name))).toEqual([]);
});

test("every size of type is a step of the scale, or follows the text around it", () => {
  const sizes = [...all.matchAll(/font-size:\s*([^;]+);/g)].map(([, size]) => size?.trim() ?? "");
  const isStep = (size: string) => /^var\(--text-\w+\)$|^[\d.]+em$|^inherit$/.test(size);
  const isRoot = (size: string) => /^\d+px$|^[\d.]+pt$/.test(size); // a large screen, and paper
  expect(sizes.filter((size) => !isStep(size) && !isRoot(size))).toEqual([]);
});

test("a style sheet is listed once, and none is left out", () => {
  const listed = [...(sheets.get("index.css") ?? "").matchAll(/"\.\/([\w-]+\.css)"/g)].map(
    ([, name]) => name,
  );
  expect([...listed].sort()).toEqual([...sheets.keys()].filter((each) => each !== "index.css").sort());
});

test("a colour is written once, as a custom property", () => {
  const others = [...sheets].filter(([name]) => !["tokens.css", "print.css"].includes(name));
  // Shades of black below a dialog, the colours of a browser's own highlight, and marks of agents.
  const isOwn = (line: string) =>
    /rgb\(10 12 11|background-color: light-dark\(#ffd54a|color: light-dark\(#22211f|oklch/.test(line);
  const written = others.flatMap(([name, text]) =>
    text
      .split("\n")
      .flatMap((line) =>
        /#[0-9a-f]{3,8}\b|rgb\(|oklch\(/.test(line) && !isOwn(line) ? [`${name}: ${line.trim()}`] : [],
      ),
  );
  expect(written).toEqual([]);
});
