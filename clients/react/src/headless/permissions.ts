// Several open permissions, decided together. Show each of them before: a person decides what is in sight.
import type { OpenRequest } from "@turnwire/client";
import { type Action, type OnRefused, useAction } from "./action.js";
import { type Decide, useIsStable } from "./permission.js";

export interface UsedPermissions extends Omit<Action, "run"> {
  /** How many permissions are decided; questions are not. */
  readonly count: number;
  /** False while decisions are sent, and for a moment after a request has come or gone. */
  readonly isReady: boolean;
  /** Decides each of them. If one is refused, the others are decided all the same. */
  readonly decideAll: (decision: "allow" | "deny") => void;
}

export function usePermissions(
  requests: readonly OpenRequest[],
  decide: Decide,
  onRefused?: OnRefused,
): UsedPermissions {
  const { run, isBusy, refusal } = useAction(onRefused);
  const ids = requests.flatMap(({ kind, request_id }) => (kind === "permission" ? [request_id] : []));
  const isStable = useIsStable(ids.join(" "));
  return {
    count: ids.length,
    isBusy,
    refusal,
    isReady: isStable && !isBusy,
    decideAll: (decision) =>
      void run(async () => {
        const ended = await Promise.allSettled(ids.map((id) => decide(id, decision)));
        for (const each of ended) if (each.status === "rejected") throw each.reason;
      }),
  };
}
