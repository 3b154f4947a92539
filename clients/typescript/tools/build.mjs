// Builds dist of a package: the modules for `import` and for `require`, each with its types.
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const compiler = fileURLToPath(import.meta.resolve("typescript/package.json")).replace(
  /package\.json$/,
  "bin/tsc",
);

/** `folder`: the package, with its settings of the compiler in `tools`. */
export function build(folder) {
  rmSync(`${folder}dist`, { recursive: true, force: true });
  for (const kind of ["esm", "cjs"]) {
    execFileSync(process.execPath, [compiler, "-p", `${folder}tools/tsconfig.${kind}.json`], {
      stdio: "inherit",
    });
    // Declares the module system of this folder, because the package has both.
    const type = kind === "esm" ? "module" : "commonjs";
    writeFileSync(`${folder}dist/${kind}/package.json`, `${JSON.stringify({ type, sideEffects: false })}\n`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) build(fileURLToPath(new URL("../", import.meta.url)));
