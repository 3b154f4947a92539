// Builds the document of the frame that draws diagrams: one file with its program, which loads nothing.
// Its policy names the hash of that program, so no other script can run in it.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Plugin, transformWithEsbuild } from "vite";
import { TICK, withLoopLimit } from "./loopLimit";

/** The module with the address of the document. */
const NAME = "virtual:diagram-frame";
const DOCUMENT = "diagram.html";

async function frameDocument(): Promise<string> {
  const require = createRequire(import.meta.url);
  const path = require.resolve("@mermaid-js/tiny");
  const mermaid = readFileSync(path, "utf8");
  const license = readFileSync(new URL("../LICENSE", `file://${path}`), "utf8");
  const own = readFileSync(new URL("./frame.ts", import.meta.url), "utf8");
  const { code } = await transformWithEsbuild(own, "frame.ts", { minify: true, format: "iife" });
  const parts = [
    `/*! mermaid\n${license.trim()}\n*/`,
    `var ${TICK}=()=>{};`,
    withLoopLimit(mermaid).trim(),
    code.trim(),
  ];
  // The browser reads these as the end of the script, or as a comment in it.
  const script = parts.join("\n").replaceAll("</script", "<\\/script").replaceAll("<!--", "\\x3c!--");
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${hash}'`,
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><title>Diagram</title></head><body><script>${script}</script></body></html>\n`;
}

export function diagramFrame(): Plugin {
  let isServing = false;
  return {
    name: "diagram-frame",
    configResolved: (config) => {
      isServing = config.command === "serve";
    },
    resolveId: (id) => (id === NAME ? `\0${NAME}` : undefined),
    async load(id) {
      if (id !== `\0${NAME}`) return;
      if (isServing) return `export default ${JSON.stringify(`/${DOCUMENT}`)};`;
      const file = this.emitFile({ type: "asset", name: DOCUMENT, source: await frameDocument() });
      return `export default import.meta.ROLLUP_FILE_URL_${file};`;
    },
    configureServer(server) {
      server.middlewares.use(`/${DOCUMENT}`, async (_, response) => {
        response.setHeader("Content-Type", "text/html; charset=utf-8");
        response.end(await frameDocument());
      });
    },
  };
}
