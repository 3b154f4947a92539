// Real Turnwire servers, in processes that can be killed.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll } from "vitest";
import { ROOT } from "./fixtures.js";

const BIN = `${ROOT}.venv/bin/`;
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

export class Server {
  url = "";
  link = "";
  private child: ChildProcess | undefined;

  private constructor(
    readonly dataDir: string,
    private readonly environment: Record<string, string>,
  ) {}

  /** `turnwire serve` with a data directory of its own, on a free port. */
  static async start(environment: Record<string, string> = {}): Promise<Server> {
    const server = new Server(mkdtempSync(join(tmpdir(), "turnwire-")), environment);
    running.add(server);
    await server.serve(0);
    return server;
  }

  /** The owner's token. */
  get token(): string {
    return readFileSync(`${this.dataDir}/owner-token`, "utf8").trim();
  }

  /** Another link for a browser: each is good once. */
  async newLink(): Promise<void> {
    const args = ["token", "link"];
    const { stdout } = await promisify(execFile)(`${BIN}turnwire`, args, {
      env: { ...process.env, TURNWIRE_DATA_DIR: this.dataDir },
    });
    this.link = /http\S+link=\S+/.exec(stdout)?.[0] ?? "";
  }

  /** Begins again, at the same address. */
  async restart(): Promise<void> {
    await this.serve(Number(new URL(this.url).port));
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Ctrl-C, and nothing is left behind. */
  async stop(): Promise<void> {
    await this.end("SIGINT");
    this.abandon();
  }

  /** Whatever it does. */
  abandon(): void {
    this.child?.kill("SIGKILL");
    rmSync(this.dataDir, { recursive: true, force: true });
    running.delete(this);
  }

  private async serve(port: number): Promise<void> {
    const args = [
      "serve",
      "--agent",
      "demo",
      "--port",
      String(port),
      "--data-dir",
      this.dataDir,
      "--no-open",
    ];
    const child = spawn(`${BIN}turnwire`, args, {
      cwd: this.dataDir,
      env: { ...process.env, PYTHONPATH: HELPERS, ...this.environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.child = child;
    for await (const line of createInterface({ input: child.stdout })) {
      this.url ||= /Turnwire is at (\S+)/.exec(line)?.[1] ?? "";
      this.link = /(http\S+enter\?link=\S+)/.exec(line)?.[1] ?? this.link;
      if (line.includes("Stop")) break;
    }
    child.stdout.resume();
    if (child.exitCode !== null) throw new Error("the server did not start");
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }
}
