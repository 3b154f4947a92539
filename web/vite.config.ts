import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { diagramFrame } from "./src/diagrams/plugin";

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  root: here("."),
  base: "./", // the server sets the page's address in <base>
  plugins: [diagramFrame()],
  resolve: {
    alias: [
      { find: "@turnwire/react", replacement: here("../clients/react/src/index.ts") },
      { find: "@turnwire/client/lists", replacement: here("../clients/typescript/src/lists.ts") },
      { find: "@turnwire/client", replacement: here("../clients/typescript/src/index.ts") },
    ],
    dedupe: ["react", "react-dom"],
  },
  build: {
    outDir: here("../src/turnwire/web"),
    emptyOutDir: true,
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the page's policy allows nothing inline
    reportCompressedSize: false,
    rollupOptions: {
      input: {
        index: here("index.html"),
        offline: here("offline.html"),
        worker: here("src/offline/worker.ts"),
      },
      output: {
        // The address of a worker has to stay the same.
        entryFileNames: ({ name }) => (name === "worker" ? "worker.js" : "assets/[name]-[hash].js"),
      },
    },
  },
  // For development of the page: run `turnwire serve`, then `npm run dev`, and sign in on the same host.
  server: {
    proxy: {
      "/api": "http://127.0.0.1:7410",
      "/enter": "http://127.0.0.1:7410",
      "/ws": { target: "ws://127.0.0.1:7410", ws: true },
    },
  },
});
