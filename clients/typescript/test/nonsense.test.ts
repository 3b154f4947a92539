// Streams that make no sense: whatever comes, TypeScript and Python see the same in it.
import { expect, test } from "vitest";
import { readFrame, readRpcMessage } from "../src/node.js";
import { reducerFixtures } from "./fixtures.js";
import { foldOf } from "./folds.js";
import { reference } from "./server.js";

const STREAMS = Number(process.env.STREAMS ?? 400);
const SEED = Number(process.env.SEED ?? 1);

/** Always the same numbers after the same seed (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

/** Fields that many objects may have, and most leave out. */
const OPTIONAL = (
  "aborted agent_id blob by chunk_seq citations content data details error id index input input_text is_error " +
  "message_sequence mime_type model origin output parent_tool_use_id partial queue_held reason redacted size " +
  "snapshot text title tool_type totals turn_id url usage"
).split(" ");

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(objectsIn)];
}

// What every object has anyway is neither a frame nor a message.
const INHERITED = ["constructor", "toString", "__proto__"].map((type) => ({ type, payload: {} }));

test.each(INHERITED)("$type is no known type", (value) => {
  const unknown = { type: "unknown", originalType: value.type, data: value };
  const head = { conversation_id: "c", turn_id: null, sequence: 1, timestamp: "", trace_id: null };
  expect(readRpcMessage(value)).toEqual(unknown);
  expect(readFrame({ ...head, ...value })).toMatchObject({ type: "unknown", originalType: value.type });
});

const ODD = [null, "", "x", 0, 1, 2, 3, -1, 1.5, true, false, [], {}, [1], { type: "hologram", beams: 3 }];

test(`${STREAMS} bent streams are the same to both`, async () => {
  const random = randomFrom(SEED);
  const one = <T>(things: readonly T[]): T => things[random(things.length)] as T;

  /** Changes one thing somewhere below. */
  function bend(value: unknown): void {
    const at = one(objectsIn(value));
    const name = one([...Object.keys(at), "type"]);
    if (Array.isArray(at)) at[random(at.length + 1)] = structuredClone(one(ODD));
    else if (random(3) === 0) delete at[name];
    else at[random(2) ? name : one(OPTIONAL)] = structuredClone(one(ODD));
  }

  const fixtures = reducerFixtures();
  const streams = Array.from({ length: STREAMS }, () => {
    const { dialect, frames } = one(fixtures);
    const bent = structuredClone(frames).filter(() => random(40) > 0);
    for (const frame of bent) {
      // The frame of a fixture over RPC is only the wrapping of a message.
      const inner = dialect === "rpc" ? (frame as { data: unknown }).data : frame;
      // Not too many: most of what follows an entry that cannot be read is not applied.
      while (random(8) === 0) bend(inner);
    }
    if (random(8) === 0) bent.sort(() => random(3) - 1);
    return { dialect, frames: bent };
  });

  const expected = await reference<unknown[]>(["fold"], streams);
  streams.forEach(({ dialect, frames }, at) => {
    const fold = foldOf(dialect);
    for (const frame of frames) {
      fold.apply(frame);
      fold.view();
    }
    expect(JSON.parse(JSON.stringify(fold.view())), `stream ${at}: ${JSON.stringify(frames)}`).toEqual(
      expected[at],
    );
  });
});
