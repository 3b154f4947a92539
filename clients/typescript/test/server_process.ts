// A real Turnwire server in its own process, for these tests and those of the page.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const BIN = `${ROOT}.venv/bin/`;

// Without stored bytecode each start compiles all modules: on a busy machine, half a minute.
delete process.env.PYTHONDONTWRITEBYTECODE;

export interface Wishes {
  agent?: string;
  environment?: Record<string, string>;
  /** The working directory; by default `workDir`. */
  cwd?: string | undefined;
  /** A Python program to run instead of `turnwire serve`; its arguments are the data directory and a port, or 0. */
  program?: string;
}

export class ServerProcess {
  readonly #top = mkdtempSync(join(tmpdir(), "turnwire-"));
  readonly dataDir = this.#make("data");
  readonly workDir = this.#make("work");
  url = "";
  link = "";
  #child: ChildProcess | undefined;
  readonly #wishes: Wishes;

  constructor(wishes: Wishes = {}) {
    this.#wishes = wishes;
  }

  /** The owner's token. */
  get token(): string {
    return readFileSync(`${this.dataDir}/owner-token`, "utf8").trim();
  }

  /** Returns a new link for a browser; a link works once. */
  newLink(): string {
    const told = execFileSync(`${BIN}turnwire`, ["token", "link", "--data-dir", this.dataDir]);
    return /http\S+link=\S+/.exec(told.toString())?.[0] ?? "";
  }

  /** Starts the server again, at the same address. */
  async restart(): Promise<void> {
    await this.serve(Number(new URL(this.url).port));
  }

  /** Kills the server (SIGKILL). */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Stops the server (SIGINT), and removes its directories. */
  async stop(): Promise<void> {
    await this.#end("SIGINT");
    this.abandon();
  }

  /** Kills the server in any state, and removes its directories. */
  abandon(): void {
    this.#child?.kill("SIGKILL");
    rmSync(this.#top, { recursive: true, force: true });
  }

  async serve(port = 0): Promise<void> {
    const { agent = "demo", environment, cwd = this.workDir, program } = this.#wishes;
    const options = ["--agent", agent, "--port", `${port}`, "--data-dir", this.dataDir, "--no-open"];
    const [command, args] = program
      ? [`${BIN}python`, [program, this.dataDir, `${port}`]]
      : [`${BIN}turnwire`, ["serve", ...options]];
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    for await (const line of createInterface({ input: child.stdout })) {
      this.url ||= /Turnwire is at (\S+)/.exec(line)?.[1] ?? "";
      this.link = /(http\S+enter\?link=\S+)/.exec(line)?.[1] ?? this.link;
      if (line.includes("Stop")) break;
    }
    child.stdout.resume();
    if (child.exitCode !== null) throw new Error("the server did not start");
  }

  #make(name: string): string {
    const path = join(this.#top, name);
    mkdirSync(path, { mode: 0o700 });
    return path;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  }
}
