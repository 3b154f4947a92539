// Streams that make no sense: whatever comes, TypeScript and Python see the same in it.
import { expect, test } from "vitest";
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

const ODD = [null, "", "x", 0, 1, 2, 3, -1, 1.5, true, false, [], {}, [1], { type: "hologram", beams: 3 }];

test(`${STREAMS} bent streams are the same to both`, () => {
  const random = randomFrom(SEED);
  const one = <T>(things: readonly T[]): T => things[random(things.length)] as T;

  /** Changes one thing somewhere below. */
  function bend(value: unknown): void {
    let at = value as Record<string, unknown>;
    for (;;) {
      const name = one(Object.keys(at));
      const inner = at[name];
      if (typeof inner === "object" && inner !== null && Object.keys(inner).length && random(4)) {
        at = inner as Record<string, unknown>;
        continue;
      }
      if (random(3)) at[name] = structuredClone(one(ODD));
      else if (!Array.isArray(at)) delete at[name];
      return;
    }
  }

  const fixtures = reducerFixtures();
  const streams = Array.from({ length: STREAMS }, () => {
    const { dialect, frames } = one(fixtures);
    const bent = structuredClone(frames).filter(() => random(20) > 0);
    for (const frame of bent) {
      // The frame of a fixture over RPC is only the wrapping of a message.
      const inner = dialect === "rpc" ? (frame as { data: unknown }).data : frame;
      while (random(3) === 0) bend(inner);
    }
    if (random(4) === 0) bent.sort(() => random(3) - 1);
    return { dialect, frames: bent };
  });

  const expected = reference<unknown[]>(["fold"], streams);
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
