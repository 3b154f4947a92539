// The published package: its size, its types from schema/, and its use in an empty project.
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compile, emptyProject, exportsOf, install } from "./empty_project.js";
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

test("the package is at most 15.6 kB gzipped", async () => {
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

describe("the package, installed into an empty project", () => {
  const project = emptyProject();
  let server: Server;

  beforeAll(async () => {
    await install(project, PACKAGE);
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

  test.each(["@turnwire/client", "@turnwire/client/lists"])(
    "%s can be required and imported, with the same exports",
    async (name) => {
      const { required, imported } = await exportsOf(project, name);
      expect(required).toEqual(imported);
      expect(imported).toContain(name === "@turnwire/client" ? "Client" : "conversationsOf");
    },
  );

  test("has types for both", async () => {
    const words =
      'import { Client, type View } from "@turnwire/client";\nimport { conversationsOf } from "@turnwire/client/lists";\n';
    const use =
      "export const look = (c: Client): View => c.conversation('x').snapshot.view;\n" +
      "export const many = (c: Client): number => conversationsOf(c).snapshot.conversations.length;\n";
    await compile(project, PACKAGE, words + use);
  });
});
