// The published package: its size, and its use in an empty project.
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { compile, emptyProject, exportsOf, install } from "../../typescript/test/empty_project.js";
import { ROOT } from "../../typescript/test/server_process.js";

const run = promisify(execFile);
const PACKAGE = `${ROOT}clients/react`;
const CLIENT = `${ROOT}clients/typescript`;

test("the lock file has no download addresses, and the package needs only the client and React", () => {
  expect(readFileSync(`${PACKAGE}/package-lock.json`, "utf8")).not.toMatch(/"resolved"|\.tgz/);
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(`${PACKAGE}/package.json`, "utf8"));
  expect(dependencies).toBeUndefined();
  expect(Object.keys(peerDependencies)).toEqual(["@turnwire/client", "react"]);
});

test("a page that uses one hook does not load the components", async () => {
  const size = async (names: string) => {
    const contents = `export { ${names} } from "${PACKAGE}/src/index.ts";`;
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: PACKAGE },
      bundle: true,
      minify: true,
      format: "esm",
      target: "es2022",
      external: ["react", "react/jsx-runtime"],
      alias: { "@turnwire/client": `${CLIENT}/src` },
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
  expect(all).toBeLessThan(40_000);
});

describe("the package, installed into an empty project", () => {
  const project = emptyProject();

  beforeAll(async () => {
    await install(project, CLIENT, PACKAGE);
    mkdirSync(`${project}/node_modules/@types`);
    for (const name of ["react", "react-dom", "scheduler", "@types/react", "@types/react-dom"])
      symlinkSync(`${PACKAGE}/node_modules/${name}`, `${project}/node_modules/${name}`);
  });

  afterAll(() => rmSync(project, { recursive: true, force: true }));

  test("builds the page of the docs", async () => {
    const docs = readFileSync(`${ROOT}docs/how-to/build-a-page.md`, "utf8");
    const page = `${project}/page`;
    mkdirSync(page);
    for (const [, name, text] of docs.matchAll(/rite `([\w.]+)`:\n\n```\w+\n([\s\S]*?)```/g))
      writeFileSync(`${page}/${name}`, text as string);
    writeFileSync(`${page}/package.json`, '{"type": "module"}');
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
    const { required, imported } = await exportsOf(project, "@turnwire/react");
    expect(required).toEqual(imported);
    expect(imported).toContain("Conversation");
  });

  test("has the style sheet of the components", async () => {
    const find = 'console.log(require.resolve("@turnwire/react/style.css"))';
    const { stdout } = await run(process.execPath, ["-e", find], { cwd: project });
    expect(readFileSync(stdout.trim(), "utf8")).toContain('[data-turnwire="conversation"]');
  });

  test("compiles the composer and the page of the docs", async () => {
    const docs = readFileSync(`${ROOT}docs/reference/react.md`, "utf8");
    const sources = [...docs.matchAll(/```tsx\n(\/\/ (\w+\.tsx)[\s\S]*?)```/g)];
    expect(sources.map(([, , name]) => name)).toEqual(["ask.tsx", "page.tsx"]);
    for (const [, source, name] of sources) writeFileSync(`${project}/${name}`, source as string);
    const tsc = `${PACKAGE}/node_modules/typescript/bin/tsc`;
    const page = ["--jsx", "react-jsx", "--module", "esnext", "--moduleResolution", "bundler"]; // as with Vite
    const how = ["--noEmit", "--strict", ...page, "--types", ""];
    await run(process.execPath, [tsc, ...how, "--lib", "es2022,dom,dom.iterable", "page.tsx"], {
      cwd: project,
    });
  });

  test("has types for both", async () => {
    const words = 'import { type Words, useConversations } from "@turnwire/react";\n';
    const use = "export const names = (own: Words): string[] => [own.send];\nexport { useConversations };\n";
    await compile(project, PACKAGE, words + use);
  });
});
