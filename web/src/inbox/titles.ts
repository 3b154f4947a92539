import type { InboxItem } from "@turnwire/client";
import { textIn } from "../tools/reading";
import type { Words } from "../words/en";

/** What is asked, in a line. */
export function titleOf(item: InboxItem, words: Words): string {
  const { request } = item;
  if (request.kind === "question")
    return request.questions?.[0]?.question ?? textIn(request.input, "question") ?? words.asks;
  return request.title ?? textIn(request.input, "command") ?? words.mayRun(request.tool_name);
}
