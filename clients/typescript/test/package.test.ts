// The published package: its size, its types from schema/, and its use in an empty project.
import { execFile } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Server } from "./server.js";
import { ROOT } from "./server_process.js";

const run = promisify(execFile);
const PACKAGE = `${ROOT}clients/typescript`;

test("types and table are up to date with schema/", async () => {
  await run(process.execPath, [`${PACKAGE}/tools/generate.mjs`, "--check"]);
});

test("the lock file has no download addresses, and the package has no dependencies", () => {
  expect(readFileSync(`${PACKAGE}/package-lock.json`, "utf8")).not.toMatch(/"resolved"|\.tgz/);
  expect(JSON.parse(readFileSync(`${PACKAGE}/package.json`, "utf8")).dependencies).toBeUndefined();
});

test("the package without React is at most 15.6 kB gzipped", async () => {
  const { outputFiles } = await build({
    entryPoints: [`${PACKAGE}/src/index.ts`],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  const size = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;
  expect(size).toBeGreaterThan(1_000);
  expect(size).toBeLessThanOrEqual(15_600);
});

test("a page that uses one hook does not load the components", async () => {
  const size = async (names: string) => {
    const contents = `export { ${names} } from "${PACKAGE}/src/react.ts";`;
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: PACKAGE },
      bundle: true,
      minify: true,
      format: "esm",
      target: "es2022",
      external: ["react", "react/jsx-runtime"],
      write: false,
    });
    return outputFiles[0]?.contents.length ?? 0;
  };
  const [hook, list, all] = [
    await size("useConversation, TurnwireProvider"),
    await size("useConversations, TurnwireProvider"),
    await size("Conversation, Inbox, useConversations, TurnwireProvider"),
  ];
  expect(hook).toBeLessThan(1_500);
  expect(list).toBeLessThan(6_000);
  expect(all).toBeLessThan(28_000);
});

describe("the package, installed into an empty project", () => {
  const project = mkdtempSync(join(tmpdir(), "turnwire-project-"));
  let server: Server;

  beforeAll(async () => {
    const packed = await run("npm", ["pack", "--silent", "--pack-destination", project], { cwd: PACKAGE });
    const tarball = packed.stdout.trim().split("\n").at(-1) as string;
    writeFileSync(`${project}/package.json`, '{"name": "empty", "private": true}');
    await run("npm", ["install", "--silent", "--offline", "--no-audit", "--no-fund", tarball], {
      cwd: project,
    });
    server = await Server.start();
  });

  afterAll(async () => {
    await server?.stop();
    rmSync(project, { recursive: true, force: true });
  });

  test("runs the script of the docs, in 20 lines", async () => {
    const docs = readFileSync(`${ROOT}docs/reference/typescript.md`, "utf8");
    const script = /```js\n(\/\/ chat\.mjs[\s\S]*?)```/.exec(docs)?.[1] as string;
    expect(script.trim().split("\n").length).toBeLessThanOrEqual(20);
    writeFileSync(`${project}/chat.mjs`, script);
    const args = ["chat.mjs", server.url, server.token, "think, use a tool and ask a question", "hello"];
    const { stdout } = await run(process.execPath, args, { cwd: project });
    expect(stdout).toContain("42");
    expect(stdout).toContain("[Bash]");
    expect(stdout).toContain("[request_input]");
  });

  test("builds the page of the docs", async () => {
    const docs = readFileSync(`${ROOT}docs/how-to/build-a-page.md`, "utf8");
    const page = `${project}/page`;
    mkdirSync(page);
    for (const [, name, text] of docs.matchAll(/rite `([\w.]+)`:\n\n```\w+\n([\s\S]*?)```/g))
      writeFileSync(`${page}/${name}`, text as string);
    writeFileSync(`${page}/package.json`, '{"type": "module"}');
    for (const name of ["react", "react-dom", "scheduler"])
      symlinkSync(`${PACKAGE}/node_modules/${name}`, `${project}/node_modules/${name}`);
    const vite = `${PACKAGE}/node_modules/vite/bin/vite.js`;
    const { stderr } = await run(process.execPath, [vite, "build", "--logLevel", "warn"], {
      cwd: page,
      env: { ...process.env, NODE_ENV: "production" }, // Vitest has another one, which brings more of React
    });
    expect(stderr).toBe("");
    const built = readdirSync(`${page}/dist/assets`);
    const script = built.find((name) => name.endsWith(".js"));
    expect(readFileSync(`${page}/dist/assets/${script}`, "utf8")).toContain("data-turnwire");
    expect(built.some((name) => name.endsWith(".css"))).toBe(true);
  });

  test("can be required and imported, with the same exports", async () => {
    const names = "Object.keys(m).sort().join()";
    const required = await run(
      process.execPath,
      ["-e", `const m = require("@turnwire/client"); console.log(${names})`],
      {
        cwd: project,
      },
    );
    const imported = await run(
      process.execPath,
      ["--input-type=module", "-e", `import * as m from "@turnwire/client"; console.log(${names})`],
      { cwd: project },
    );
    expect(required.stdout.replace("default,", "")).toBe(imported.stdout);
    expect(imported.stdout).toContain("Client,");
  });

  test("has the style sheet of the components", async () => {
    const find = 'console.log(require.resolve("@turnwire/client/react.css"))';
    const { stdout } = await run(process.execPath, ["-e", find], { cwd: project });
    expect(readFileSync(stdout.trim(), "utf8")).toContain('[data-turnwire="conversation"]');
  });

  test("has types for both", async () => {
    const tsc = `${PACKAGE}/node_modules/typescript/bin/tsc`;
    const words = 'import { Client, type View } from "@turnwire/client";\n';
    const use = "export const look = (c: Client): View => c.conversation('x').snapshot.view;\n";
    writeFileSync(`${project}/one.mts`, words + use);
    writeFileSync(`${project}/other.cts`, words + use);
    const options = [
      "--noEmit",
      "--strict",
      "--module",
      "nodenext",
      "--skipLibCheck",
      "false",
      "--types",
      "",
    ];
    const more = ["--lib", "es2022,dom,dom.iterable", "one.mts", "other.cts"];
    await run(process.execPath, [tsc, ...options, ...more], { cwd: project });
  });
});
