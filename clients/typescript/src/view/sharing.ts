// Structural sharing: an unchanged part stays the same object.

/** Returns `last` if `now` holds the same items. */
export function sameOr<T extends readonly unknown[]>(last: T, now: T): T {
  return isSame(last, now) ? last : now;
}

export function isSame<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

/** Returns `now`, with every part that equals the same part of `before` taken from `before`. */
export function share<T>(before: unknown, now: T): T {
  if (before === now || typeof before !== "object" || typeof now !== "object") return now;
  if (before === null || now === null || Array.isArray(before) !== Array.isArray(now)) return now;
  const old = before as Record<string, unknown>;
  const made = now as Record<string, unknown>;
  const names = Object.keys(made);
  let isSame = names.length === Object.keys(old).length;
  const shared: Record<string, unknown> = Array.isArray(now) ? ([] as never) : {};
  for (const name of names) {
    shared[name] = share(old[name], made[name]);
    isSame &&= shared[name] === old[name] && name in old;
  }
  return (isSame ? before : shared) as T;
}
