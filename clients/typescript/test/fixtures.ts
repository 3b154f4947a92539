// The fixtures that Python and TypeScript share: fixtures/ at the root of the repository.
import { readdirSync, readFileSync } from "node:fs";
import { ROOT } from "./server_process.js";

export interface Fixture {
  name: string;
  about: string;
  dialect: "v2" | "rpc";
  frames: unknown[];
  view: unknown;
}

export function readJson(path: string): Record<string, unknown> {
  return JSON.parse(readFileSync(ROOT + path, "utf8"));
}

/** Returns the server frames of a recorded session. */
export function serverFrames(path: string): unknown[] {
  const lines = readFileSync(ROOT + path, "utf8")
    .split("\n")
    .filter(Boolean);
  return lines.map((line) => JSON.parse(line)).flatMap((line) => (line.server ? [line.server] : []));
}

export function reducerFixtures(): Fixture[] {
  return readdirSync(`${ROOT}fixtures/reducer`)
    .filter((name) => name.endsWith(".json"))
    .map((name) => {
      const fixture = readJson(`fixtures/reducer/${name}`) as unknown as Fixture & { transcript?: string };
      const frames = fixture.transcript ? serverFrames(`fixtures/${fixture.transcript}`) : fixture.frames;
      return { ...fixture, name, frames };
    });
}
