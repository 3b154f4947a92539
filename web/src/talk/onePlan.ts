// One card for the plan of a turn: it changes in its place, instead of a card for every change.
import type { BlockView } from "@turnwire/client";
import { planIn } from "../tools/plans";
import type { Row } from "./rows";

type BlockRow = Row & { kind: "block" };

/** The row with all versions of a plan, by the newest version. */
const cached = new WeakMap<BlockView, BlockRow>();

/**
 * Returns the rows with one row for the plan of each turn, where its first version was. The row shows
 * the newest version and has the earlier ones.
 */
export function onePlanPerTurn(rows: Row[]): Row[] {
  const plans = new Map<number | undefined, BlockRow[]>();
  for (const row of rows) {
    if (row.kind !== "block" || planIn(row.block) === undefined) continue;
    const { turn_id } = row.message;
    const versions = plans.get(turn_id);
    if (versions) versions.push(row);
    else plans.set(turn_id, [row]);
  }
  const joined = new Map<Row, Row | undefined>();
  for (const versions of plans.values()) {
    if (versions.length < 2) continue;
    for (const version of versions) joined.set(version, undefined);
    joined.set(versions[0] as Row, rowOfVersions(versions));
  }
  if (!joined.size) return rows;
  return rows.flatMap((row) => (joined.has(row) ? (joined.get(row) ?? []) : row));
}

function rowOfVersions(versions: readonly BlockRow[]): BlockRow {
  const [first, newest] = [versions[0] as BlockRow, versions.at(-1) as BlockRow];
  const before = cached.get(newest.block);
  if (before?.message === first.message && before.earlier?.length === versions.length - 1) return before;
  const earlier = versions.slice(0, -1).map(({ block }) => block);
  const row = { ...first, block: newest.block, earlier };
  cached.set(newest.block, row);
  return row;
}
