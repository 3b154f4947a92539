// Starts one browser for all tests of a run. Each test uses its own window without stored data.
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";
import { CHROMIUM } from "../../clients/react/test/chromium";

declare module "vitest" {
  export interface ProvidedContext {
    /** The WebSocket address of the browser. */
    browser: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!CHROMIUM)
    throw new Error("There is no Chromium. Install it, or say where it is: CHROMIUM=/path make test");
  const browser = await chromium.launchServer({
    executablePath: CHROMIUM,
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
