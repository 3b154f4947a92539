// The gallery: `npm run gallery`. It is built for the visual test only, and never shipped.
import { fileURLToPath } from "node:url";
import { defineConfig, mergeConfig } from "vite";
import page from "../vite.config";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

const config = mergeConfig(
  page,
  defineConfig({
    root: here("."),
    base: "/",
    build: { outDir: here("../node_modules/.gallery") },
    server: { proxy: {}, fs: { allow: [here("../..")] } },
  }),
);
// Instead of the documents of the page: a merge would keep both.
config.build.rollupOptions.input = [here("index.html"), here("components.html")];

export default config;
