// The region of the person, which decides how dates and times look: 19:30 or 7:30 PM.

/** Returns the browser's own variant of a language, such as en-GB for en. */
export function regional(locale: string, preferred = preferredLocales()): string {
  const languageOf = (each: string) => each.split("-")[0];
  return preferred.find((each) => languageOf(each) === languageOf(locale)) ?? locale;
}

function preferredLocales(): readonly string[] {
  return typeof document === "undefined" ? [] : navigator.languages;
}
