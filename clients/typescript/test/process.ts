// A real Turnwire server in a process that can be killed. The tests of the page start theirs with it too.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
export const BIN = `${ROOT}.venv/bin/`;

// A server that may not keep compiled modules compiles all of them at each start: on a busy machine, half a minute.
delete process.env.PYTHONDONTWRITEBYTECODE;

export interface Wishes {
  agent?: string;
  environment?: Record<string, string>;
  /** Where it works: in `workDir`, unless told otherwise. */
  cwd?: string | undefined;
  /** A Python program that serves instead of `turnwire serve`; it is given the data directory. */
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

  /** Another link for a browser: each is good once. */
  newLink(): string {
    const told = execFileSync(`${BIN}turnwire`, ["token", "link", "--data-dir", this.dataDir]);
    return /http\S+link=\S+/.exec(told.toString())?.[0] ?? "";
  }

  /** Begins again, at the same address. */
  async restart(): Promise<void> {
    await this.serve(Number(new URL(this.url).port));
  }

  /** kill -9. */
  async kill(): Promise<void> {
    await this.#end("SIGKILL");
  }

  /** Ctrl-C, and nothing is left behind. */
  async stop(): Promise<void> {
    await this.#end("SIGINT");
    this.abandon();
  }

  /** Whatever it does. */
  abandon(): void {
    this.#child?.kill("SIGKILL");
    rmSync(this.#top, { recursive: true, force: true });
  }

  async serve(port = 0): Promise<void> {
    const { agent = "demo", environment, cwd = this.workDir, program } = this.#wishes;
    const options = ["--agent", agent, "--port", `${port}`, "--data-dir", this.dataDir, "--no-open"];
    const [command, args] = program
      ? [`${BIN}python`, [program, this.dataDir]]
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
