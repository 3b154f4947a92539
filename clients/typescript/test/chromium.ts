// Where a real browser is. The shell has the same engine without the windows around it, and is quicker.
import { existsSync } from "node:fs";

const PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** Named by CHROMIUM, or in one of the usual places; empty: there is none. */
export const CHROMIUM = process.env.CHROMIUM ?? PLACES.find((path) => existsSync(path)) ?? "";
