// Looks up names of agents and servers in tables of the page.

/** Returns the value of an own key of the table: every object inherits others, as `constructor`. */
export function lookUp<T>(table: Readonly<Record<string, T>>, key: string | undefined): T | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}
