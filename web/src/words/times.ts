import type { Words } from "./en";
import { regional } from "./region";

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns a time in the words of the page. Formats are kept: creating one takes longer than using it. */
function formatted(at: string, words: Words, options: Intl.DateTimeFormatOptions): string {
  const name = `${words.locale} ${JSON.stringify(options)}`;
  let format = formats.get(name);
  if (format === undefined) {
    format = new Intl.DateTimeFormat(regional(words.locale), options);
    formats.set(name, format);
  }
  return format.format(new Date(at));
}

/** Returns the time of day. */
export function timeOfDay(at: string, words: Words): string {
  return formatted(at, words, { timeStyle: "short" });
}

/** Returns the whole date and time. */
export function wholeTime(at: string, words: Words): string {
  return formatted(at, words, { dateStyle: "full", timeStyle: "medium" });
}

/** Returns the date. */
export function wholeDate(at: string, words: Words): string {
  return formatted(at, words, { dateStyle: "long" });
}

/** Returns the day: today, yesterday, or its date. */
export function dayOf(at: string, words: Words, now = new Date()): string {
  const day = new Date(at).toDateString();
  if (day === now.toDateString()) return words.today;
  const before = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (day === before.toDateString()) return words.yesterday;
  return formatted(at, words, { dateStyle: "full" });
}

/** Returns how long ago, as one short word. */
export function ago(at: string, words: Words, now = Date.now()): string {
  const seconds = Math.max(0, (now - Date.parse(at)) / 1000);
  if (seconds < 60) return words.ago.now;
  if (seconds < 3600) return words.ago.minutes(Math.floor(seconds / 60));
  if (seconds < 86_400) return words.ago.hours(Math.floor(seconds / 3600));
  if (seconds < 7 * 86_400) return words.ago.days(Math.floor(seconds / 86_400));
  const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return formatted(at, words, {
    day: "numeric",
    month: "short",
    ...(isThisYear ? {} : { year: "numeric" }),
  });
}
