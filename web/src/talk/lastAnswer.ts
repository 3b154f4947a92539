// The last answer of the agent, and the last code in it.
import type { View } from "@turnwire/client";

const FENCED = /^ {0,3}(`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n {0,3}\1[ \t]*$/gm;

/** Returns the last text of the agent; undefined if it has written none. */
export function lastAnswer({ messages }: View): string | undefined {
  for (const { role, blocks } of [...messages].reverse()) {
    const text = role === "assistant" ? blocks.findLast((each) => each.type === "text") : undefined;
    if (text?.type === "text") return text.text;
  }
  return undefined;
}

/** Returns the last fenced code of the last answer; undefined if it has none. */
export function lastCode(view: View): string | undefined {
  return [...(lastAnswer(view) ?? "").matchAll(FENCED)].at(-1)?.[2];
}
