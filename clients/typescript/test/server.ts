// Servers for these tests, and the Python reference.
import { spawn } from "node:child_process";
import { afterAll } from "vitest";
import { BIN, ROOT, ServerProcess } from "./server_process.js";

const HELPERS = `${ROOT}clients/typescript/test/python`;

/** Returns the output of the Python reference: test/python/reference.py. */
export async function reference<T>(args: string[], input?: unknown): Promise<T> {
  const child = spawn(`${BIN}python`, [`${HELPERS}/reference.py`, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(input === undefined ? "" : JSON.stringify(input));
  let told = "";
  for await (const piece of child.stdout.setEncoding("utf8")) told += piece;
  return JSON.parse(told) as T;
}

/** The servers to remove if a test fails before it stops them. */
const running = new Set<Server>();
afterAll(() => {
  for (const server of running) server.abandon();
});

export class Server extends ServerProcess {
  /** Starts `turnwire serve` with a new data directory, on a free port. */
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
