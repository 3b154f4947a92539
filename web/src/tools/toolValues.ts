// Reads the inputs and results of tools of any agent.
import { isObject, textIn } from "@turnwire/react";
import { withoutColours } from "./ansi";

export { isObject, textIn };

export type Json = Record<string, unknown>;

/** Returns the first of these fields that is a string, with its name; prefers a non-empty one. */
export function fieldOf(value: Json, ...names: string[]): { name: string; text: string } | undefined {
  const texts = names.flatMap((name) => {
    const text = value[name];
    return typeof text === "string" ? [{ name, text }] : [];
  });
  return texts.find(({ text }) => text) ?? texts[0];
}

/** Returns all other fields; undefined if there are none. */
export function without(value: Json, ...names: (string | undefined)[]): Json | undefined {
  const rest = Object.entries(value).filter(([name]) => !names.includes(name));
  return rest.length ? Object.fromEntries(rest) : undefined;
}

export function numberIn(value: unknown, ...names: string[]): number | undefined {
  if (!isObject(value)) return undefined;
  for (const name of names) {
    const found = value[name];
    if (typeof found === "number") return found;
  }
  return undefined;
}

export function listIn(value: unknown, name: string): unknown[] {
  const found = isObject(value) ? value[name] : undefined;
  return Array.isArray(found) ? found : [];
}

/** Formats any value for people. */
export function formatted(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** Characters of a list or an object that is written in one line. */
const SHORT = 60;
const INNERMOST = /[[{]\n[^[\]{}]{1,80}\n *[\]}]/g;

/** Formats any value for people, with short lists and objects in one line each. */
export function laidOut(value: unknown): string {
  const text = formatted(value);
  if (typeof value === "string") return text;
  const line = inOneLine(text);
  return line.length <= SHORT ? line : text.replace(INNERMOST, inOneLine);
}

/** JSON has no line breaks in its strings. */
function inOneLine(json: string): string {
  return json.replace(/,\n */g, ", ").replace(/\n */g, "");
}

/** Returns the output or result of a tool as text, without images and colours. */
export function outputText(content: unknown): string {
  return withoutColours(rawOutput(content));
}

/** Returns the output or result of a tool with the control sequences of a terminal. */
export function rawOutput(content: unknown): string {
  if (content === null || content === undefined) return "";
  if (typeof content === "string") return content;
  if (Array.isArray(content)) {
    const parts = content.map((each) => {
      if (typeof each === "string") return each;
      if (textIn(each, "type") === "image") return "";
      return textIn(each, "text") ?? formatted(each);
    });
    return parts.filter(Boolean).join("\n");
  }
  return formatted(content);
}

export { type Picture, type PlanItem as Todo, picturesIn, planItems as todosIn } from "@turnwire/react";
