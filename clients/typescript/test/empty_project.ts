// An empty project that installs packages as a user would.
import { execFile } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Creates it; returns its folder. */
export function emptyProject(): string {
  const project = mkdtempSync(join(tmpdir(), "turnwire-project-"));
  writeFileSync(`${project}/package.json`, '{"name": "empty", "private": true}');
  return project;
}

/** Packs the packages in these folders, and installs them without a network. */
export async function install(project: string, ...packages: string[]): Promise<void> {
  const tarballs: string[] = [];
  for (const cwd of packages) {
    const { stdout } = await run("npm", ["pack", "--silent", "--pack-destination", project], { cwd });
    tarballs.push(stdout.trim().split("\n").at(-1) as string);
  }
  const quiet = ["--silent", "--offline", "--no-audit", "--no-fund", "--legacy-peer-deps"];
  await run("npm", ["install", ...quiet, ...tarballs], { cwd: project });
}

/** Returns the names that `require` and `import` find in a module. */
export async function exportsOf(
  project: string,
  name: string,
): Promise<{ required: string[]; imported: string[] }> {
  const tell = "console.log(JSON.stringify(Object.keys(m).filter((each) => each !== 'default').sort()))";
  const ask = async (script: string, ...how: string[]) =>
    JSON.parse((await run(process.execPath, [...how, "-e", script], { cwd: project })).stdout);
  return {
    required: await ask(`const m = require("${name}"); ${tell}`),
    imported: await ask(`import * as m from "${name}"; ${tell}`, "--input-type=module"),
  };
}

/** Compiles a module in both module systems, with the compiler of a package. Rejects if its types are wrong. */
export async function compile(
  project: string,
  with_: string,
  source: string,
  ...more: string[]
): Promise<void> {
  writeFileSync(`${project}/one.mts`, source);
  writeFileSync(`${project}/other.cts`, source);
  const tsc = `${with_}/node_modules/typescript/bin/tsc`;
  const how = ["--noEmit", "--strict", "--module", "nodenext", "--types", "", ...more];
  const libraries = ["--lib", "es2022,dom,dom.iterable"];
  await run(process.execPath, [tsc, ...how, ...libraries, "one.mts", "other.cts"], { cwd: project });
}
