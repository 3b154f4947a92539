// The same fixtures as the Python reducer's, frame by frame.
import { describe, expect, test } from "vitest";
import { readRpcMessage, Transcript } from "../src/rpc/transcript.js";
import { readFrame } from "../src/v2/frames.js";
import { ViewReducer } from "../src/v2/reducer.js";
import { type Fixture, reducerFixtures } from "./fixtures.js";

interface Fold {
  apply(frame: unknown): void;
  view(): unknown;
}

function fold(dialect: Fixture["dialect"]): Fold {
  if (dialect === "v2") {
    const reducer = new ViewReducer();
    return { apply: (frame) => reducer.apply(readFrame(frame)), view: () => reducer.view() };
  }
  const transcript = new Transcript();
  return {
    apply: (frame) => {
      const { data, sequence } = frame as { data: unknown; sequence?: number };
      transcript.apply(readRpcMessage(data), sequence);
    },
    view: () => transcript.view(),
  };
}

const fixtures = reducerFixtures();

test("there are fixtures of both dialects", () => {
  expect(new Set(fixtures.map((fixture) => fixture.dialect))).toEqual(new Set(["v2", "rpc"]));
});

describe.each(fixtures)("$name", ({ about, dialect, frames, view }) => {
  test(about, () => {
    const folded = fold(dialect);
    for (const frame of frames) folded.apply(frame);
    expect(folded.view()).toStrictEqual(view);
  });

  test("is the same whenever it was looked at, and what was looked at never changes", () => {
    const folded = fold(dialect);
    const looks: { view: unknown; was: string }[] = [];
    for (const frame of frames) {
      folded.apply(frame);
      looks.push({ view: folded.view(), was: JSON.stringify(folded.view()) });
    }
    expect(folded.view()).toStrictEqual(view);
    for (const look of looks) expect(JSON.stringify(look.view)).toBe(look.was);
  });

  test("comes again from the same frames, after a reload of the page", () => {
    const [first, second] = [fold(dialect), fold(dialect)];
    for (const frame of frames) first.apply(frame);
    for (const frame of frames) {
      second.apply(frame);
      second.view();
    }
    expect(second.view()).toStrictEqual(first.view());
  });
});
