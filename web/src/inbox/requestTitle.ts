import type { InboxItem } from "@turnwire/client";
import { permissionTitle } from "../requests/permissionTitle";
import { textIn } from "../tools/toolValues";
import type { Words } from "../words/en";

/** Returns a one-line title of a request. */
export function titleOf(item: InboxItem, words: Words): string {
  const { request } = item;
  if (request.kind === "question")
    return request.questions?.[0]?.question ?? textIn(request.input, "question") ?? words.asks;
  const isNamed = request.title && request.title !== request.tool_name;
  return (!isNamed && textIn(request.input, "command")) || permissionTitle(request, words);
}
