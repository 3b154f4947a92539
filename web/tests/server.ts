// Real Turnwire servers, in processes that can be killed.
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { BIN, ROOT, ServerProcess } from "../../clients/typescript/test/server_process";

export { ROOT };

const HELPERS = `${ROOT}web/tests/python`;

/** The demo agent writes faster than people read. */
const QUICK = { TURNWIRE_AGENT_OPTIONS: JSON.stringify({ demo: { delay: 0.004 } }) };

interface Cookie {
  name: string;
  value: string;
  url: string;
}

/** What a browser stores after signing in with a link: a cookie, and the page key. */
interface Entered {
  cookies: Cookie[];
  pageKey: string;
}

export class Server extends ServerProcess {
  /** The process of the scripted model; it survives restarts of the server. */
  private model: ChildProcess | undefined;
  private entering: Promise<Entered> | undefined;

  /** Starts `turnwire serve` with a new data directory, on a free port, in `cwd`. */
  static async start(environment: Record<string, string> = {}, cwd?: string): Promise<Server> {
    const server = new Server({ environment: { ...QUICK, ...environment }, cwd });
    await server.serve();
    return server;
  }

  /** Starts a server with the real Claude Code, and a scripted model in its own process. */
  static withClaude(script: "talk" | "agent_panel" | "permissions"): Promise<Server> {
    return Server.#withModel("claude", script);
  }

  /** Starts a server with the real Codex and a scripted model, and with a scripted agent of ACP. */
  static withCodex(): Promise<Server> {
    return Server.#withModel("codex");
  }

  static async #withModel(agent: "claude" | "codex", ...script: string[]): Promise<Server> {
    const environment: Record<string, string> = {};
    const server = new Server({ agent, environment });
    const args = [`${HELPERS}/${agent}.py`, server.workDir, ...script];
    const model = spawn(`${BIN}python`, args, { stdio: ["ignore", "pipe", "inherit"] });
    server.model = model;
    for await (const line of createInterface({ input: model.stdout })) {
      const [name = "", value = ""] = line.split(/=(.*)/);
      if (!value) break;
      environment[name] = value;
    }
    await server.serve();
    return server;
  }

  /** Starts it inside of an application, below a path. `hasUsers`: the application signs its users in. */
  static async mounted(hasUsers = false): Promise<Server> {
    const environment: Record<string, string> = hasUsers ? { SIGN_IN: "1" } : {};
    const server = new Server({ program: `${HELPERS}/mounted.py`, environment });
    await server.serve();
    return server;
  }

  /** Sends a request with the owner's token, and returns the JSON of the answer. */
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

  /** Runs a program of tests/python on this server's data directory. Returns its output. */
  python(program: string, ...args: string[]): string {
    const path = `${HELPERS}/${program}.py`;
    return execFileSync(`${BIN}python`, [path, this.dataDir, ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "inherit"],
    }).toString();
  }

  /** Returns the cookie and the page key of the owner, the same for all browsers of a test. */
  entered(): Promise<Entered> {
    this.entering ??= this.enter(new URL(this.link || this.newLink()));
    return this.entering;
  }

  private async enter(link: URL): Promise<Entered> {
    const answer = await fetch(link.origin + link.pathname, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ link: link.searchParams.get("link") }),
    });
    const [cookie = ""] = answer.headers.getSetCookie();
    const [name = "", value = ""] = cookie.split(";")[0]?.split("=") ?? [];
    const told = (await answer.json()) as { page_key: string };
    return { cookies: [{ name, value, url: this.url }], pageKey: told.page_key };
  }

  override abandon(): void {
    this.model?.kill("SIGKILL");
    super.abandon();
  }
}
