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
  /** A program of tests/python beside it, or instead of it. */
  private beside: ChildProcess | undefined;
  private program: string | undefined;
  private agent = "demo";
  private cwd: string | undefined;
  private entered: Promise<{ name: string; value: string; url: string }[]> | undefined;

  private constructor(
    readonly dataDir: string,
    private readonly environment: Record<string, string>,
  ) {}

  /** `turnwire serve` with a data directory of its own, on a free port; it works in `cwd`. */
  static async start(environment: Record<string, string> = {}, cwd?: string): Promise<Server> {
    const server = new Server(mkdtempSync(join(tmpdir(), "turnwire-page-")), environment);
    server.cwd = cwd;
    await server.serve(0);
    return server;
  }

  /** The real Claude Code, with a model that follows a script, in a process of its own. */
  static async withClaude(): Promise<Server> {
    const dataDir = mkdtempSync(join(tmpdir(), "turnwire-page-"));
    const path = `${ROOT}web/tests/python/claude.py`;
    const model = spawn(`${BIN}python`, [path, dataDir], { stdio: ["ignore", "pipe", "inherit"] });
    const environment: Record<string, string> = {};
    for await (const line of createInterface({ input: model.stdout })) {
      const [name = "", value = ""] = line.split(/=(.*)/);
      if (!value) break;
      environment[name] = value;
    }
    const server = new Server(dataDir, environment);
    server.beside = model;
    server.agent = "claude";
    await server.serve(0);
    return server;
  }

  /** In another application, below a path. */
  static async mounted(): Promise<Server> {
    const server = new Server(mkdtempSync(join(tmpdir(), "turnwire-page-")), {});
    server.program = "mounted";
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

  /** The cookie that a one-time link is exchanged for: once is enough for all browsers of a test. */
  cookies(): Promise<{ name: string; value: string; url: string }[]> {
    this.entered ??= fetch(this.link || this.newLink(), { redirect: "manual" }).then((answer) => {
      const [cookie = ""] = answer.headers.getSetCookie();
      const [name = "", value = ""] = cookie.split(";")[0]?.split("=") ?? [];
      return [{ name, value, url: this.url }];
    });
    return this.entered;
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
    this.beside?.kill("SIGKILL");
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  private async serve(port: number): Promise<void> {
    const args = [
      "serve",
      "--agent",
      this.agent,
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
      cwd: this.cwd ?? this.dataDir,
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
