// Reads what is nearly right: every part that fits is kept. The rules are those of the Python reader
// (turnwire.core.lenient), and the table is made from schema/:
//
// - a field that is not known is passed over;
// - a field of the wrong type is as good as absent; if it has to be there, its object does not fit;
// - in a union, an object of an unknown tag, or one that does not fit, is kept as `unknown`;
// - a field that equals its default is left out, so that it is either there or not.
//
// A field in the table is its name; after a colon its kind, unless it is a string (`integer`, `number`,
// `boolean`, `any`, `object`, the words 'a''b' of a list, the name of an object or of a union; `[]` for a
// list of them); and a mark: none has to be there, `!` too and may be null, `?` null by default, `=x` x by
// default, `*` absent by default.
import { shapes, unions } from "./generated/table.js";

/** Gives back the value, or undefined if it does not fit: in JSON nothing is undefined. */
type Reader = (value: unknown) => unknown;

interface Field {
  name: string;
  read: Reader;
  required: boolean;
  /** Whether a value is the default, and so is left out. */
  isDefault: (value: unknown) => boolean;
}

export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function integer(value: unknown): number | undefined {
  return Number.isInteger(value) ? (value as number) : undefined;
}

export function object(value: unknown): Json | undefined {
  return isObject(value) ? value : undefined;
}

/** JSON, or nothing. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Unions whose objects are content: one that does not fit in every field is kept whole, as it came. */
const KEPT_WHOLE = new Set(["Content", "RpcBlock"]);

/** By what the table says of them. */
const compiled = new Map<string, Field[]>();

/** Reads an object with these fields. Undefined: something that it needs is not there. */
export function readFields(fields: string | undefined, value: unknown): Json | undefined {
  if (typeof fields !== "string" || !isObject(value)) return; // every table has a `constructor`
  const kept: Json = {};
  let stray = false;
  for (const { name, read, required, isDefault } of compile(fields)) {
    const given = value[name];
    const fitting = given === undefined ? given : read(given);
    if (fitting === undefined) {
      if (required) return;
      stray ||= given !== undefined;
    } else if (!isDefault(fitting)) {
      kept[name] = fitting;
      stray ||= isStray(fitting);
    }
  }
  if (stray) strays.add(kept);
  return kept;
}

/** Objects and lists of which a part did not fit, at whatever depth. */
const strays = new WeakSet<object>();

function isStray(value: unknown): boolean {
  return typeof value === "object" && value !== null && strays.has(value);
}

/** What the tag of a member of a union says. */
export function tagOf(value: unknown): string {
  return isObject(value) && typeof value.type === "string" ? value.type : "";
}

/** Reads a member of a union. What is not known is `{type: "unknown", originalType, data}`. */
export function readUnion(name: string, value: unknown): Json {
  const type = tagOf(value);
  const read = readFields(unions[name]?.[type], value);
  if (read && !(KEPT_WHOLE.has(name) && isStray(read))) return { type, ...read };
  if (type === "unknown") {
    const { originalType, data } = value as Json;
    if (typeof originalType === "string" && data !== undefined) return { type, originalType, data };
  }
  return { type: "unknown", originalType: type, data: value };
}

function compile(fields: string): Field[] {
  let found = compiled.get(fields);
  if (!found) {
    found = fields.split(" ").map(compileField);
    compiled.set(fields, found);
  }
  return found;
}

function compileField(field: string): Field {
  const [, name = "", kind = "string", mark = ""] = /^(\w+)(?::(.+?))?([!?*]|=.*)?$/.exec(field) ?? [];
  const read = reader(kind);
  return {
    name,
    read: mark === "?" || mark === "!" ? (value) => (value === null ? null : read(value)) : read,
    required: mark === "" || mark === "!",
    isDefault: mark === "?" || mark[0] === "=" ? isDefault(mark) : () => false,
  };
}

function isDefault(mark: string): (value: unknown) => boolean {
  if (mark === "?") return (value) => value === null;
  return (value) => mark === `=${JSON.stringify(value)}`;
}

function reader(kind: string): Reader {
  if (kind.endsWith("[]")) return listReader(kind.slice(0, -2));
  if (kind.startsWith("'")) return (value) => (kind.includes(`'${value}'`) ? value : undefined);
  switch (kind) {
    case "any":
      return (value) => value;
    case "integer":
      return integer;
    case "object":
      return object;
    case "string":
    case "number":
    case "boolean":
      return (value) => (typeof value === kind ? value : undefined);
    default:
      return kind in unions ? (value) => readUnion(kind, value) : (value) => readFields(shapes[kind], value);
  }
}

function listReader(kind: string): Reader {
  const read = reader(kind);
  return (value) => {
    // Content that came without its list is content all the same.
    if (kind in unions && isObject(value)) return [read(value)];
    if (!Array.isArray(value)) return;
    const items = value.map(read);
    if (items.includes(undefined)) return;
    if (items.some(isStray)) strays.add(items);
    return items;
  };
}
