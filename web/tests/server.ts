// Real Turnwire servers, in processes that can be killed.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BIN = `${ROOT}.venv/bin/`;

export class Server {
  url = "";
  link = "";
  private child: ChildProcess | undefined;
  /** A program of tests/python to be run instead of `turnwire serve`. */
  private program: string | undefined;

  private constructor(
    readonly dataDir: string,
    private readonly environment: Record<string, string>,
  ) {}

  /** `turnwire serve` with a data directory of its own, on a free port. */
  static async start(environment: Record<string, string> = {}): Promise<Server> {
    const server = new Server(mkdtempSync(join(tmpdir(), "turnwire-page-")), environment);
    await server.serve(0);
    return server;
  }

  /** The real Claude Code, with a model that follows a script. */
  static async withClaude(): Promise<Server> {
    const server = new Server(mkdtempSync(join(tmpdir(), "turnwire-page-")), {});
    server.program = "claude";
    await server.serve(0);
    return server;
  }

  /** The owner's token. */
  get token(): string {
    return readFileSync(`${this.dataDir}/owner-token`, "utf8").trim();
  }

  /** As a program of the owner's: its JSON. */
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const headers = { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" };
    const answer = await fetch(this.url + path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  /** A Python program of tests/python, with this server's data directory. */
  python(program: string, ...args: string[]): string {
    const path = `${ROOT}web/tests/python/${program}.py`;
    return execFileSync(`${BIN}python`, [path, this.dataDir, ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
    }).toString();
  }

  /** Another one-time link. */
  newLink(): string {
    const told = execFileSync(`${BIN}turnwire`, ["token", "link", "--data-dir", this.dataDir]).toString();
    return /http\S+/.exec(told)?.[0] ?? "";
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
    rmSync(this.dataDir, { recursive: true, force: true });
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
    const [command, given] = this.program
      ? [`${BIN}python`, [`${ROOT}web/tests/python/${this.program}.py`, this.dataDir]]
      : [`${BIN}turnwire`, args];
    const child = spawn(command, given, {
      cwd: this.dataDir,
      env: { ...process.env, ...this.environment },
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
