// Reads JSON leniently: keeps every part that is valid. The rules are those of the Python reader
// (turnwire.core.lenient), and the table is generated from schema/:
//
// - an unknown field is ignored;
// - a field of the wrong type counts as absent; if the field is required, its object is invalid;
// - in a union, an object with an unknown tag, or an invalid object, is kept as `unknown`;
// - a field that equals its default is left out, so that it is either present or absent.
//
// A field in the table consists of its name, its type after a colon, and a mark. Without a type it
// is a string. Types are `integer`, `number`, `boolean`, `any`, `object`, the values 'a''b' of an
// enumeration, the name of an object or of a union, and `[]` after a type for a list. The marks
// are: none for a required field, `!` for a required field that may be null, `?` for null by
// default, `=x` for x by default, and `*` for absent by default.
import { shapes, unions } from "./generated/table.js";

/** Returns the value, or undefined if it is invalid: JSON has no undefined. */
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

/** Parses JSON. Returns undefined if it is invalid. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Unions of content: an object with any invalid field is kept whole, as received. */
const KEPT_WHOLE = new Set(["Content", "RpcBlock"]);

/** Compiled fields, by their text in the table. */
const compiled = new Map<string, Field[]>();

/** Reads an object with these fields. Returns undefined if a required field is missing. */
export function readFields(fields: string | undefined, value: unknown): Json | undefined {
  if (typeof fields !== "string" || !isObject(value)) return; // every table inherits `constructor`
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

/** Objects and lists with an invalid part, at any depth. */
const strays = new WeakSet<object>();

function isStray(value: unknown): boolean {
  return typeof value === "object" && value !== null && strays.has(value);
}

/** Returns the tag of a member of a union. */
export function tagOf(value: unknown): string {
  return isObject(value) && typeof value.type === "string" ? value.type : "";
}

/** Reads a member of a union. An unknown one becomes `{type: "unknown", originalType, data}`. */
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
    // Accepts a single content object instead of a list.
    if (kind in unions && isObject(value)) return [read(value)];
    if (!Array.isArray(value)) return;
    const items = value.map(read);
    if (items.includes(undefined)) return;
    if (items.some(isStray)) strays.add(items);
    return items;
  };
}
