// Describes events other than messages.

import type { EventView } from "@turnwire/client";
import { lookUp } from "../app/lookup";
import type { NameOf } from "../app/me";
import { isObject, listIn, textIn } from "../tools/toolValues";
import type { Words } from "../words/en";

export function eventText(
  { subtype = "", name, text, data }: EventView,
  words: Words,
  nameOf: NameOf,
): string {
  const told = isObject(data) ? data : {};
  const about = textIn(told, "description");
  switch (subtype) {
    case "task_started":
      return told.is_backgrounded === true ? words.task.behind(about) : words.task.begun(about);
    case "task_notification":
      return words.task.over(textIn(told, "status") ?? "completed", textIn(told, "summary") ?? about);
    case "agent":
      return words.handover.happened(textIn(told, "agent") ?? "");
    case "agent_refused":
      return words.handover.refused(textIn(told, "agent") ?? "", textIn(told, "message") ?? "");
    case "rewind": {
      const by = textIn(told, "by");
      return words.rewind.happened(
        listIn(told, "files").length,
        listIn(told, "failed").length,
        by && nameOf(by),
      );
    }
    default:
      return lookUp(words.event, subtype) || text || (subtype || name).replaceAll("_", " ");
  }
}
