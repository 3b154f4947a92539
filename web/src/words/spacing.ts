// Spaces between Chinese and other words.

/** Returns a name with a space before the Chinese text that follows, unless it ends in Chinese itself. */
export function afterText(name: string): string {
  return /\p{Script=Han}$/u.test(name) ? name : `${name} `;
}

/** Returns a name with spaces between itself and the Chinese text on both sides. */
export function besideText(name: string): string {
  return /^\p{Script=Han}/u.test(name) ? afterText(name) : ` ${afterText(name)}`;
}
