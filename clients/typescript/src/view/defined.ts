// In a view, absent values are left out.

/** Returns `value` without the fields that are undefined. */
export function defined<T extends object>(value: { [K in keyof T]: T[K] | undefined }): T {
  for (const name of Object.keys(value) as (keyof T)[]) {
    if (value[name] === undefined) delete value[name];
  }
  return value as T;
}
