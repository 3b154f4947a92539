// The filters of the list, which the whole page shares.
import type { ConversationInfo } from "@turnwire/client";
import type { Activity } from "@turnwire/client/lists";
import type { Tone } from "../talk/stateText";

export interface Filters {
  agent?: string | undefined;
  label?: string | undefined;
  state?: Tone | undefined;
}

/** What the server calls the conversations that are shown with a colour. */
export const ACTIVITIES: Record<Tone, Activity> = {
  asks: "waiting_input",
  busy: "working",
  calm: "idle",
  stopped: "interrupted",
  failed: "error",
};

export const isFiltered = (filters: Filters) => Object.values(filters).some((each) => each !== undefined);

/** Returns the agents and labels of these conversations and those that were known, sorted. */
export function known(
  before: { agents: string[]; labels: string[] },
  all: readonly ConversationInfo[],
): { agents: string[]; labels: string[] } {
  const join = (old: string[], more: string[]) => [...new Set([...old, ...more])].sort();
  const agents = join(
    before.agents,
    all.map((each) => each.agent),
  );
  const labels = join(
    before.labels,
    all.flatMap((each) => each.labels ?? []),
  );
  const isSame = agents.length === before.agents.length && labels.length === before.labels.length;
  return isSame ? before : { agents, labels };
}
