// Describes how a question or a permission ended.
import type { RequestView } from "@turnwire/client";
import { lookUp } from "../app/lookup";
import type { NameOf } from "../app/me";
import type { Words } from "../words/en";

export function outcomeText(
  { decision, outcome = "", by }: Pick<RequestView, "decision" | "outcome" | "by">,
  words: Words,
  nameOf: NameOf,
): string {
  if (decision) return words.decided(decision, by && nameOf(by));
  const said = lookUp(words.outcome, outcome) ?? outcome;
  if (outcome !== "cancelled" || by === undefined) return said;
  if (by === "agent") return words.withdrawnByAgent;
  const why = by === "interrupt" ? words.stoppedBecause.user : lookUp(words.stoppedBecause, by);
  return `${said} · ${why ?? words.stoppedBy(nameOf(by))}`;
}
