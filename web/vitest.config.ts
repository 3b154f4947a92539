import { mergeConfig } from "vite";
import { defineConfig } from "vitest/config";
import page from "./vite.config";

// One browser, two workers with three tests each: the limit of a small machine.
export default mergeConfig(
  page,
  defineConfig({
    test: {
      include: process.env.RUN ? [process.env.RUN] : ["tests/**/*.test.ts"],
      globalSetup: "tests/setup.ts",
      pool: "threads",
      isolate: false, // each worker loads the browser driver once
      testTimeout: 480_000,
      hookTimeout: 240_000,
      maxWorkers: 2,
      maxConcurrency: 3,
      sequence: { concurrent: !process.env.RUN },
      expect: { poll: { timeout: 150_000 } },
    },
  }),
);
