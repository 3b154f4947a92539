import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "test/**/*.test.tsx"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    pool: "threads",
    maxWorkers: 4, // the workers mostly wait for servers
  },
});
