// Loading older entries gives the same view as loading all entries at the start.
import { describe, expect, test } from "vitest";
import type { View } from "../src/generated/types.js";
import { readFrame } from "../src/v2/frames.js";
import { ViewReducer } from "../src/v2/reducer.js";
import { reducerFixtures, serverFrames } from "./fixtures.js";

interface Frame {
  type: string;
  turn_id: number | null;
  payload: Record<string, unknown>;
}

/** Returns the log of a recorded session, each entry once and in order. */
function logOf(frames: Frame[]): Frame[] {
  const log = new Map<number, Frame>();
  for (const frame of frames) {
    const told = frame.type === "message.replay" ? (frame.payload.event as Frame) : frame;
    const number = told?.payload?.message_sequence;
    if (typeof number === "number" && !told.type.endsWith(".ack"))
      log.set(number, { ...told, sequence: null } as never);
  }
  const numbers = [...log.keys()].sort((one, other) => one - other);
  return numbers.every((number, at) => number === at + 1) ? numbers.map((number) => log.get(number)!) : [];
}

function begin(first: number, log: Frame[]): ViewReducer {
  const reducer = new ViewReducer();
  const head = { conversation_id: "c", turn_id: null, timestamp: "2026-01-01T12:00:00.000Z", trace_id: null };
  const capabilities = { agent: "demo", commands: [] };
  const limits = { max_frame_bytes: 1, max_queue: 1, heartbeat_seconds: 15 };
  const payload = {
    connection_id: "1",
    client_id: "1",
    epoch: "e",
    first,
    head: log.length,
    capabilities,
    limits,
  };
  reducer.apply(readFrame({ ...head, type: "session.connected", sequence: 1, payload }));
  log.slice(first - 1).forEach((event, at) => {
    const replay = { message_sequence: first + at, event };
    reducer.apply(readFrame({ ...head, type: "message.replay", sequence: at + 2, payload: replay }));
  });
  return reducer;
}

function prepend(reducer: ViewReducer, log: Frame[], from: number): void {
  reducer.prepend(
    from,
    log.slice(from - 1, reducer.first - 1).map((event) => readFrame(event)),
  );
}

/** Removes the open requests, which only the state has. */
function withoutStatus(view: View): View {
  const { status: _, ...rest } = view;
  return rest;
}

const fixtures = reducerFixtures().filter((fixture) => fixture.dialect === "v2");
const logs = fixtures
  .map(({ name, frames }) => ({ name, log: logOf(frames as Frame[]) }))
  .filter(({ log }) => log.length > 1);

test("the fixtures have logs", () => {
  expect(logs.length).toBeGreaterThan(5);
  expect(serverFrames).toBeDefined();
});

describe.each(logs)("$name", ({ log }) => {
  const whole = withoutStatus(begin(1, log).view());

  test("can be split at any entry and loaded in two parts", () => {
    for (let first = 2; first <= log.length + 1; first += 1) {
      const reducer = begin(first, log);
      reducer.view();
      prepend(reducer, log, 1);
      expect(withoutStatus(reducer.view())).toStrictEqual(whole);
    }
  });

  test("can be loaded page by page", () => {
    for (const size of [1, 2, 3, 7]) {
      const reducer = begin(log.length, log);
      while (reducer.first > 1) {
        prepend(reducer, log, Math.max(1, reducer.first - size));
        reducer.view();
      }
      expect(withoutStatus(reducer.view())).toStrictEqual(whole);
    }
  });
});
