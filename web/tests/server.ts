// Real Turnwire servers, in processes that can be killed.
import { execFileSync } from "node:child_process";
import { BIN, ROOT, ServerProcess } from "../../clients/typescript/test/process";

export { ROOT };

const HELPERS = `${ROOT}web/tests/python`;

export class Server extends ServerProcess {
  /** `turnwire serve` with a data directory of its own, on a free port. */
  static async start(environment: Record<string, string> = {}): Promise<Server> {
    const server = new Server(environment);
    await server.serve();
    return server;
  }

  /** The real Claude Code, with a model that follows a script. */
  static async withClaude(): Promise<Server> {
    const server = new Server({}, `${HELPERS}/claude.py`);
    await server.serve();
    return server;
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
    const path = `${HELPERS}/${program}.py`;
    return execFileSync(`${BIN}python`, [path, this.dataDir, ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
    }).toString();
  }
}
