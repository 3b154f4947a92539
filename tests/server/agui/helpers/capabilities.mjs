// Checks capabilities by the schema of `@ag-ui/core`. stdin: a list of them; stdout: a list of errors for each.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.argv[2]}/package.json`);
const { AgentCapabilitiesSchema } = await import(pathToFileURL(require.resolve("@ag-ui/core/schemas")).href).catch(() => import(pathToFileURL(require.resolve("@ag-ui/core")).href));

let text = "";
for await (const piece of process.stdin) text += piece;
const check = (each) => AgentCapabilitiesSchema.strict().safeParse(each).error?.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`) ?? [];
process.stdout.write(JSON.stringify(JSON.parse(text).map(check)));
