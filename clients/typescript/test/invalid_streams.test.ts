// Invalid streams: the TypeScript and the Python reader produce the same view.
import { expect, test } from "vitest";
import { readFrame, readRpcMessage } from "../src/node.js";
import { reducerFixtures } from "./fixtures.js";
import { foldOf } from "./reducers.js";
import { reference } from "./server.js";

const STREAMS = Number(process.env.STREAMS ?? 400);
const SEED = Number(process.env.SEED ?? 1);

/** Returns a random number generator with a seed (mulberry32). */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * below);
  };
}

/** Optional fields of many objects. */
const OPTIONAL = (
  "aborted agent_id blob by chunk_seq citations content data details error id index input input_text is_error " +
  "message_sequence mime_type model origin output parent_tool_use_id partial queue_held reason redacted size " +
  "snapshot text title tool_type totals turn_id url usage"
).split(" ");

function objectsIn(value: unknown): Record<string, unknown>[] {
  if (typeof value !== "object" || value === null) return [];
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(objectsIn)];
}

// The inherited keys of objects are neither frames nor messages.
const INHERITED = ["constructor", "toString", "__proto__"].map((type) => ({ type, payload: {} }));

test.each(INHERITED)("$type is no known type", (value) => {
  const unknown = { type: "unknown", originalType: value.type, data: value };
  const head = { conversation_id: "c", turn_id: null, sequence: 1, timestamp: "", trace_id: null };
  expect(readRpcMessage(value)).toEqual(unknown);
  expect(readFrame({ ...head, ...value })).toMatchObject({ type: "unknown", originalType: value.type });
});

const ODD = [null, "", "x", 0, 1, 2, 3, -1, 1.5, true, false, [], {}, [1], { type: "hologram", beams: 3 }];

test(`${STREAMS} invalid streams give the same view in both languages`, async () => {
  const random = randomFrom(SEED);
  const one = <T>(things: readonly T[]): T => things[random(things.length)] as T;

  /** Changes one random part of a value. */
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
      // An RPC frame of a fixture only wraps a message.
      const inner = dialect === "rpc" ? (frame as { data: unknown }).data : frame;
      // Only a few, because most frames after an unreadable entry are not applied.
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
