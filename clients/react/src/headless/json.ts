// Reads values whose form is the agent's own.

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the first of these fields that is a string with content. */
export function textIn(value: unknown, ...names: string[]): string | undefined {
  if (!isObject(value)) return undefined;
  for (const name of names) {
    const found = value[name];
    if (typeof found === "string" && found) return found;
  }
  return undefined;
}

/** Returns a value as text: a text as it is, anything else as JSON. */
export function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
