// One browser for all tests of a run: each of them has its own window in it, with nothing kept.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** Where the browser listens. */
    browser: string;
  }
}

const PLACES = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const executablePath = PLACES.find((place) => place && existsSync(place));
  if (!executablePath)
    throw new Error("There is no Chromium. Install it, or say where it is: CHROMIUM=/path make test");
  const browser = await chromium.launchServer({
    executablePath,
    host: "127.0.0.1",
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
  project.provide("browser", browser.wsEndpoint());
  return () => browser.close();
}
