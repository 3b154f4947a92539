// Finds a real browser. The headless shell comes first: it has the same engine and starts faster.
import { existsSync } from "node:fs";

const PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** The path from CHROMIUM, or one of the usual paths; empty if there is no browser. */
export const CHROMIUM = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path)) ?? "";
