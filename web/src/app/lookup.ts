// Words of agents and servers as keys of our own tables.

/** The value under this key, if the table itself has one: every object inherits others, as `constructor`. */
export function known<T>(table: Readonly<Record<string, T>>, key: string | undefined): T | undefined {
  return key !== undefined && Object.hasOwn(table, key) ? table[key] : undefined;
}
