// The fixtures of the Python reducer, frame by frame.
import { describe, expect, test } from "vitest";
import { reducerFixtures } from "./fixtures.js";
import { foldOf } from "./reducers.js";

const fixtures = reducerFixtures();

test("there are fixtures of both dialects", () => {
  expect(new Set(fixtures.map((fixture) => fixture.dialect))).toEqual(new Set(["v2", "rpc"]));
});

describe.each(fixtures)("$name", ({ about, dialect, frames, view }) => {
  test(about, () => {
    const folded = foldOf(dialect);
    for (const frame of frames) folded.apply(frame);
    expect(folded.view()).toStrictEqual(view);
  });

  test("does not depend on when its view was read, and a returned view never changes", () => {
    const folded = foldOf(dialect);
    const looks: { view: unknown; was: string }[] = [];
    for (const frame of frames) {
      folded.apply(frame);
      looks.push({ view: folded.view(), was: JSON.stringify(folded.view()) });
    }
    expect(folded.view()).toStrictEqual(view);
    for (const look of looks) expect(JSON.stringify(look.view)).toBe(look.was);
  });

  test("is after every frame what a new reader of the same frames shows", () => {
    const looking = foldOf(dialect);
    frames.forEach((frame, at) => {
      looking.apply(frame);
      const fresh = foldOf(dialect);
      for (const each of frames.slice(0, at + 1)) fresh.apply(each);
      expect(looking.view()).toStrictEqual(fresh.view());
    });
  });
});
