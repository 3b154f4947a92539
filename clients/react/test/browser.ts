// Starts Chromium, and serves pages for it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { createServer } from "vite";
import { afterAll } from "vitest";
import { ROOT } from "../../typescript/test/server_process.js";
import { CHROMIUM } from "./chromium.js";

if (!CHROMIUM) {
  const said =
    "the tests of the TypeScript client in a browser: they need Chromium. Install it, or name it in CHROMIUM.";
  if (process.env.CI) throw new Error(`Not run: ${said}`);
  console.warn(`Not run: ${said}`);
}

export class Browser {
  readonly #errors: string[] = [];
  readonly #profile: string;

  private constructor(
    readonly context: BrowserContext,
    profile: string,
  ) {
    this.#profile = profile;
  }

  static async start(): Promise<Browser> {
    const profile = mkdtempSync(join(tmpdir(), "turnwire-chromium-"));
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: CHROMIUM,
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"],
      ignoreDefaultArgs: ["--disable-extensions"],
    });
    context.setDefaultTimeout(150_000); // for a busy machine
    return new Browser(context, profile);
  }

  async page(): Promise<Page> {
    const page = await this.context.newPage();
    page.on("pageerror", (error) => this.#errors.push(String(error)));
    return page;
  }

  /** The errors of all pages; should be empty. */
  get errors(): string[] {
    return this.#errors;
  }

  async stop(): Promise<void> {
    await this.context.close();
    rmSync(this.#profile, { recursive: true, force: true });
  }
}

/** Vite bundles the dependencies of the pages once, into this folder. */
const cache = mkdtempSync(join(tmpdir(), "turnwire-vite-"));
afterAll(() => rmSync(cache, { recursive: true, force: true }));

export interface Pages {
  url: string;
  stop(): Promise<void>;
}

/** Serves a folder with pages, and forwards requests for the server to it. */
export async function serving(folder: string, server: string): Promise<Pages> {
  const modules = `${ROOT}clients/`;
  const vite = await createServer({
    configFile: false,
    root: ROOT + folder,
    cacheDir: cache,
    logLevel: "silent",
    esbuild: { jsx: "automatic" },
    resolve: {
      alias: [
        { find: "@turnwire/react/style.css", replacement: `${modules}react/src/style.css` },
        { find: "@turnwire/react", replacement: `${modules}react/src/index.ts` },
        { find: "@turnwire/client/lists", replacement: `${modules}typescript/src/lists.ts` },
        { find: "@turnwire/client", replacement: `${modules}typescript/src/index.ts` },
        { find: /^(react|react-dom)(\/.*)?$/, replacement: `${modules}react/node_modules/$1$2` },
      ],
    },
    server: {
      host: "127.0.0.1",
      port: 0,
      fs: { allow: [ROOT] },
      proxy: {
        ...Object.fromEntries(
          ["/api", "/enter", "/ws"].map((path) => [path, { target: server, ws: path === "/ws" }]),
        ),
        // The same server below a path, as in an application.
        "/chat": { target: server, ws: true, rewrite: (path: string) => path.replace(/^\/chat/, "") },
      },
    },
  });
  await vite.listen();
  const port = (vite.httpServer?.address() as { port: number } | undefined)?.port;
  return {
    url: `http://127.0.0.1:${port}`,
    stop: () => vite.close(),
  };
}
