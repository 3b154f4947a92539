// Validates and assembles UI message streams with the package `ai`, as a front end does.
// stdin: {"cases": [[[chunk, ...], ...], ...]}; each case is one message, in one or more streams.
// stdout: [{"message": ..., "errors": [...]}, ...]
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/package.json`);
const ai = await import(pathToFileURL(require.resolve("ai")).href);
const schema = typeof ai.uiMessageChunkSchema === "function" ? ai.uiMessageChunkSchema() : ai.uiMessageChunkSchema;

let text = "";
for await (const piece of process.stdin) text += piece;
const out = [];
for (const streams of JSON.parse(text).cases) {
  let message;
  const errors = [];
  for (const chunks of streams) {
    for (const chunk of chunks) {
      const checked = await schema.validate(chunk);
      if (!checked.success) errors.push(`${chunk.type}: ${checked.error}`);
    }
    const stream = new ReadableStream({
      start(controller) {
        for (const chunk of chunks) controller.enqueue(chunk);
        controller.close();
      },
    });
    const onError = (error) => errors.push(String(error));
    for await (const now of ai.readUIMessageStream({ message, stream, onError })) message = now;
  }
  out.push({ message, errors });
}
process.stdout.write(JSON.stringify(out));
