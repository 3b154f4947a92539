import type { Words } from "./en";

/** Returns how long ago, as one short word. */
export function ago(at: string, words: Words, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  if (seconds < 60) return words.ago.now;
  if (seconds < 3600) return words.ago.minutes(Math.floor(seconds / 60));
  if (seconds < 86_400) return words.ago.hours(Math.floor(seconds / 3600));
  if (seconds < 7 * 86_400) return words.ago.days(Math.floor(seconds / 86_400));
  return new Date(at).toLocaleDateString(words.locale);
}
