// The groups of the list: pinned conversations, then by the date of the newest news.
import type { ConversationInfo } from "@turnwire/client";

export type GroupName = "pinned" | "today" | "yesterday" | "week" | "older";

export interface Group {
  name: GroupName;
  all: ConversationInfo[];
}

/** Returns the groups that are not empty. Keeps the order inside of each. */
export function groupsOf(all: readonly ConversationInfo[], now = new Date()): Group[] {
  const midnight = (daysAgo: number) =>
    new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo).getTime();
  const since: [GroupName, number][] = [
    ["today", midnight(0)],
    ["yesterday", midnight(1)],
    ["week", midnight(6)],
    ["older", Number.NEGATIVE_INFINITY],
  ];
  const groups = new Map<GroupName, ConversationInfo[]>();
  for (const each of all) {
    const at = Date.parse(each.updated_at);
    const name = each.pinned ? "pinned" : (since.find(([, start]) => at >= start)?.[0] ?? "older");
    groups.set(name, [...(groups.get(name) ?? []), each]);
  }
  return [...groups].map(([name, all]) => ({ name, all }));
}

/** Returns the directory that most conversations have. The list shows only the others. */
export function usualDirectory(all: readonly ConversationInfo[]): string | undefined {
  const counts = new Map<string | undefined, number>();
  for (const { cwd } of all) counts.set(cwd, (counts.get(cwd) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0];
}
