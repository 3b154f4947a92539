// The gallery: `npm run gallery`. It is built for the visual test only, and never shipped.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Connect, defineConfig, mergeConfig, type Plugin } from "vite";
import page from "../vite.config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** The offline page of the page itself, as /offline.html. Its server never answers, so it stays. */
function offlinePage(): Plugin {
  const file = here("offline.html"); // this file does not exist: its text comes from the folder above
  const text = () => readFileSync(here("../offline.html"), "utf8").replace("src/offline", "/../src/offline");
  const unreachable: Connect.NextHandleFunction = (request, response, next) => {
    if (request.url !== "/healthz") return next();
    response.statusCode = 503;
    response.end();
  };
  return {
    name: "offline-page",
    resolveId: (id) => (id === file ? file : undefined),
    load: (id) => (id === file ? text() : undefined),
    configurePreviewServer: ({ middlewares }) => void middlewares.use(unreachable),
    configureServer: (server) => {
      server.middlewares.use(unreachable);
      server.middlewares.use("/offline.html", (_, response, next) => {
        const dev = text().replace("/../src", `/@fs${here("../src")}`);
        server.transformIndexHtml("/offline.html", dev).then((html) => response.end(html), next);
      });
    },
  };
}

const config = mergeConfig(
  page,
  defineConfig({
    root: here("."),
    base: "/",
    publicDir: here("../public"),
    plugins: [offlinePage()],
    build: { outDir: here("../node_modules/.gallery") },
    server: { proxy: {}, fs: { allow: [here("../..")] } },
  }),
);
// Instead of the documents of the page: a merge would keep both.
config.build.rollupOptions.input = [here("index.html"), here("components.html"), here("offline.html")];

export default config;
