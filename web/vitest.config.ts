import { mergeConfig } from "vite";
import { defineConfig } from "vitest/config";
import page from "./vite.config";

// Two browsers at once, with three pages each, are enough for a small machine. Most of the time a test waits.
export default mergeConfig(
  page,
  defineConfig({
    test: {
      include: process.env.RUN ? [process.env.RUN] : ["tests/**/*.test.ts"],
      testTimeout: 90_000,
      hookTimeout: 90_000,
      maxWorkers: 2,
      maxConcurrency: 3,
      sequence: { concurrent: !process.env.RUN },
      expect: { poll: { timeout: 20_000 } },
    },
  }),
);
