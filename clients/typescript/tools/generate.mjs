// Writes src/generated: the types of all frames and views, and the table that the lenient reader
// (src/lenient.ts) uses. Both come from schema/, so that they always agree.
//
//   node tools/generate.mjs           writes the files
//   node tools/generate.mjs --check   fails if the files are outdated
import { readFileSync, writeFileSync } from "node:fs";

const here = (path) => new URL(path, import.meta.url);
const schemaOf = (name) => JSON.parse(readFileSync(here(`../../../schema/${name}.schema.json`), "utf8"));

const rpc = schemaOf("rpc");
const view = schemaOf("view");

// In the order of the output. The view comes last, because its types are the most exact for frames
// that were read: for example, the reader wraps content of an unknown kind.
const schemas = {
  server: schemaOf("v2"),
  client: schemaOf("v2-client"),
  rpc,
  calls: prefixed(schemaOf("rpc-calls")),
  frames: prefixed(schemaOf("rpc-frames")),
  view,
};

/** Adds the prefix Rpc to the frames of RPC, because protocol v2 has frames with the same names. */
function prefixed(schema) {
  const renamed = (name) => (name in rpc.$defs || name in view.$defs ? name : `Rpc${name}`);
  const text = JSON.stringify(schema).replace(/#\/\$defs\/(\w+)/g, (_, name) => `#/$defs/${renamed(name)}`);
  const read = JSON.parse(text);
  read.$defs = Object.fromEntries(Object.entries(read.$defs).map(([name, each]) => [renamed(name), each]));
  return read;
}

// The unions have no names in the schema. These names are those of the Python code.
const unions = {
  ServerFrame: schemas.server.anyOf,
  ClientFrame: schemas.client.anyOf,
  RpcMessage: schemas.rpc.anyOf,
  RpcStreamEventData: schemas.rpc.$defs.RpcStreamEvent.properties.event.anyOf,
  RpcDelta: schemas.rpc.$defs.RpcContentBlockDeltaEvent.properties.delta.anyOf,
  RpcBlock: schemas.rpc.$defs.RpcContentBlockStartEvent.properties.content_block.anyOf,
  Content: schemas.server.$defs.UserWords.properties.content.items.anyOf,
  BlockView: schemas.view.$defs.MessageView.properties.blocks.items.anyOf,
  RpcServerFrame: schemas.frames.anyOf,
};

const refName = (schema) => schema.$ref.replace("#/$defs/", "");
const members = (variants) => variants.map(refName);
const isNull = (schema) => schema.type === "null";
const unionNames = new Map(Object.entries(unions).map(([name, variants]) => [keyOf(variants), name]));

function keyOf(variants) {
  return variants.every((variant) => variant.$ref) ? members(variants).sort().join() : "";
}

const defs = Object.assign({}, ...Object.values(schemas).map((schema) => schema.$defs));
const sent = new Set([...Object.keys(schemas.client.$defs), ...Object.keys(schemas.calls.$defs)]);

// --- types --------------------------------------------------------------------------------------

function typeOf(schema) {
  if (schema.$ref) return refName(schema);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) {
    const name = unionNames.get(keyOf(schema.anyOf));
    return name ?? schema.anyOf.map(typeOf).join(" | ");
  }
  switch (schema.type) {
    case "string":
      // One of several words; a later version may have more of them.
      return schema.examples
        ? `${schema.examples.map((word) => JSON.stringify(word)).join(" | ")} | (string & {})`
        : "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
    case "null":
      return schema.type;
    case "array":
      return `Array<${schema.items ? typeOf(schema.items) : "unknown"}>`;
    case "object":
      return `Record<string, ${schema.additionalProperties ? typeOf(schema.additionalProperties) : "unknown"}>`;
    default:
      return "unknown";
  }
}

function comment(words, indent = "") {
  const said = words?.split("\n")[0].trim();
  return said ? `${indent}/** ${said} */\n` : "";
}

function interfaceOf(name, schema) {
  const required = new Set(schema.required);
  const fields = ordered(schema).map(([field, value]) => {
    let type = typeOf(value);
    // The reader leaves out fields that are null by default, so that a field is either present or absent.
    if (!required.has(field) && !sent.has(name)) type = type.replace(/ \| null$/, "");
    const mark = required.has(field) ? "" : "?";
    return `${comment(value.description, "  ")}  ${field}${mark}: ${type};\n`;
  });
  if (name === "UnknownFrame") {
    return `${comment(schema.description)}export interface UnknownFrame {\n  type: "unknown";\n  originalType: string;\n  data: unknown;\n}\n`;
  }
  return `${comment(schema.description)}export interface ${name} {\n${fields.join("")}}\n`;
}

/** Sorts the fields for people: the tag first, then the required fields. */
function ordered(schema) {
  const required = schema.required ?? [];
  const rest = Object.keys(schema.properties).filter((name) => !required.includes(name));
  return [...required, ...rest].map((name) => [name, schema.properties[name]]);
}

function types() {
  const unionTypes = Object.entries(unions).map(
    ([name, variants]) =>
      `export type ${name} =\n${members(variants)
        .map((each) => `  | ${each}`)
        .join("\n")};\n`,
  );
  const calls = schemas.calls.anyOf
    .filter((call) => call.properties.method)
    .map(({ properties }) => `  ${properties.method.const}: ${refName(properties.params)};\n`);
  unionTypes.push(
    `/** What each method of RPC is called with. */\nexport interface RpcCalls {\n${calls.join("")}}\n`,
  );
  const interfaces = Object.entries(defs).map(([name, schema]) => interfaceOf(name, schema));
  return [...interfaces, ...unionTypes].join("\n");
}

// --- the reader's table ---------------------------------------------------------------------------

/** Returns a field in the notation of the reader's table, which src/lenient.ts explains. */
function fieldOf(name, schema, isRequired) {
  if (!isRequired && !("default" in schema)) return `${name}:any*`;
  const { kind, nullable } = kindOf(schema);
  const typed = kind === "string" ? name : `${name}:${kind}`;
  if (isRequired) return typed + (nullable && kind !== "any" ? "!" : "");
  return typed + (schema.default === null ? "?" : `=${JSON.stringify(schema.default)}`);
}

function kindOf(schema) {
  if (schema.$ref) return { kind: refName(schema), nullable: false };
  if (schema.enum) return { kind: schema.enum.map((word) => `'${word}'`).join(""), nullable: false };
  if (schema.anyOf) {
    const name = unionNames.get(keyOf(schema.anyOf));
    if (name) return { kind: name, nullable: false };
    const rest = schema.anyOf.filter((variant) => !isNull(variant));
    if (rest.length !== 1) throw new Error(`no name for this union: ${JSON.stringify(schema)}`);
    return { kind: kindOf(rest[0]).kind, nullable: rest.length < schema.anyOf.length };
  }
  if (schema.type === "array") return { kind: `${kindOf(schema.items ?? {}).kind}[]`, nullable: false };
  return { kind: schema.type ?? "any", nullable: false };
}

// No view uses these payloads, so the reader does not check them.
const TAKEN = new Set(["ReplayComplete", "HeartbeatAck", "ErrorPayload", "TurnStart", "Accepted"]);
const ENVELOPE = ["conversation_id", "turn_id", "sequence", "timestamp", "trace_id"];

function table() {
  const shapes = {};
  const named = {};
  const follow = (kind) => {
    const name = kind.replace(/\[\]$/, "");
    if (unions[name]) addUnion(name);
    else if (defs[name]) shapes[name] ??= fieldsOf(defs[name]);
  };
  const fieldsOf = (schema, among = () => true) => {
    const isTag = ([name, field]) => name === "type" && field.enum?.length === 1;
    const fields = ordered(schema).filter((each) => !isTag(each) && among(each[0]));
    for (const [, field] of fields) follow(kindOf(field).kind);
    return fields.map(([name, field]) => [name, fieldOf(name, field, schema.required?.includes(name))]);
  };
  const addUnion = (name) => {
    if (named[name]) return;
    named[name] = {};
    for (const member of members(unions[name])) {
      const tag = defs[member].properties.type.enum?.[0];
      if (tag === "unknown") continue; // the reader's result for all other tags
      named[name][tag] = fieldsOf(defs[member]);
    }
  };
  const frames = {};
  for (const member of members(unions.ServerFrame)) {
    const { type, payload } = defs[member].properties;
    if (type.enum === undefined) continue;
    const name = refName(payload);
    // A replay contains a frame, which src/v2/frames.ts reads.
    const among = (field) => name !== "Replay" || field !== "event";
    frames[type.enum[0]] = TAKEN.has(name) ? [] : fieldsOf(defs[name], among);
  }
  shapes.Envelope = fieldsOf(defs.AssistantChunk, (name) => ENVELOPE.includes(name));
  addUnion("RpcMessage");
  const unionTable = { ServerFrame: frames, ...named };
  inOrder([shapes, ...Object.values(unionTable)].flatMap(Object.values));
  return [
    written("unions", "The fields of each member of a union, by its tag.", unionTable),
    written("shapes", "The fields of each other object.", shapes),
  ].join("\n");
}

/** Puts common fields first, so that the table compresses well. */
function inOrder(objects) {
  const uses = new Map();
  for (const [, field] of objects.flat()) uses.set(field, (uses.get(field) ?? 0) + 1);
  const rank = ([, field]) => uses.get(field);
  for (const fields of objects)
    fields.sort((one, other) => rank(other) - rank(one) || (one[1] < other[1] ? -1 : 1));
}

function written(name, doc, value) {
  const joined = (_, each) => (Array.isArray(each) ? each.map(([, field]) => field).join(" ") : each);
  const type = name === "unions" ? "Record<string, Record<string, string>>" : "Record<string, string>";
  const text = JSON.stringify(value, joined, 2).replace(/^( +)"(\w+)":/gm, "$1$2:");
  return `/** ${doc} */\nexport const ${name}: ${type} = ${text};\n`;
}

const HEAD =
  "// Generated from schema/ by tools/generate.mjs: `make schema` writes it anew. Do not edit.\n\n";
const files = { "types.ts": HEAD + types(), "table.ts": HEAD + table() };
for (const [name, text] of Object.entries(files)) {
  const path = here(`../src/generated/${name}`);
  if (process.argv.includes("--check")) {
    if (readFileSync(path, "utf8") !== text) {
      console.error(`src/generated/${name} is not what schema/ says: run make schema.`);
      process.exitCode = 1;
    }
  } else {
    writeFileSync(path, text);
  }
}
