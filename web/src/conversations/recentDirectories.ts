// The directories that a person has chosen lately, stored in the browser.
import { readStored, store } from "../app/browserStorage";

const MOST = 6;

export function recentDirectories(): string[] {
  try {
    const kept: unknown = JSON.parse(readStored("directories") ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
  } catch {
    return [];
  }
}

export function keepDirectory(path: string): void {
  const others = recentDirectories().filter((each) => each !== path);
  store("directories", JSON.stringify([path, ...others].slice(0, MOST)));
}
