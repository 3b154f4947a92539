// Builds dist: the client first, whose types this package uses, then the modules, and the style sheet.
import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL("../", import.meta.url));
const client = fileURLToPath(new URL("../../typescript/tools/build.mjs", import.meta.url));
execFileSync(process.execPath, [client], { stdio: "inherit" });
const { build } = await import(client);
build(here);
copyFileSync(`${here}src/style.css`, `${here}dist/style.css`);
