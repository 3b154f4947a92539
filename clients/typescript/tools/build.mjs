// Builds dist: the modules for `import` and for `require`, each with its types, and the style sheet.
import { execFileSync } from "node:child_process";
import { copyFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("../", import.meta.url));
const tsc = fileURLToPath(import.meta.resolve("typescript/package.json")).replace(
  /package\.json$/,
  "bin/tsc",
);

rmSync(`${here}dist`, { recursive: true, force: true });
for (const kind of ["esm", "cjs"]) {
  execFileSync(process.execPath, [tsc, "-p", `${here}tools/tsconfig.${kind}.json`], { stdio: "inherit" });
  // Declares the module system of this folder, because the package has both.
  const type = kind === "esm" ? "module" : "commonjs";
  writeFileSync(`${here}dist/${kind}/package.json`, `${JSON.stringify({ type, sideEffects: false })}\n`);
}
copyFileSync(`${here}src/react.css`, `${here}dist/react.css`);
