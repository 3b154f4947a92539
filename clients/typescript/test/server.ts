// Servers for these tests, and what Python makes of what they say.
import { spawn } from "node:child_process";
import { afterAll } from "vitest";
import { BIN, ROOT, ServerProcess } from "./process.js";

const HELPERS = `${ROOT}clients/typescript/test/python`;

/** What Python makes of it: test/python/reference.py. */
export async function reference<T>(args: string[], input?: unknown): Promise<T> {
  const child = spawn(`${BIN}python`, [`${HELPERS}/reference.py`, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(input === undefined ? "" : JSON.stringify(input));
  let told = "";
  for await (const piece of child.stdout.setEncoding("utf8")) told += piece;
  return JSON.parse(told) as T;
}

/** Where a test fails before it stops its server: nothing is left behind. */
const running = new Set<Server>();
afterAll(() => {
  for (const server of running) server.abandon();
});

export class Server extends ServerProcess {
  /** `turnwire serve` with a data directory of its own, on a free port. */
  static async start(environment: Record<string, string> = {}): Promise<Server> {
    const server = new Server({ environment: { PYTHONPATH: HELPERS, ...environment } });
    running.add(server);
    await server.serve();
    return server;
  }

  override abandon(): void {
    super.abandon();
    running.delete(this);
  }
}
