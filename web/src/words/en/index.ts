// The texts of the page in English. The type makes sure that every language has all of them.
import { agent } from "./agent";
import { app } from "./app";
import { composer } from "./composer";
import { content } from "./content";
import { inspect } from "./inspect";
import { list } from "./list";
import { requests } from "./requests";
import { start } from "./start";
import { talk } from "./talk";
import { tools } from "./tools";

export const en = {
  locale: "en",
  ...agent,
  ...app,
  ...composer,
  ...content,
  ...inspect,
  ...list,
  ...requests,
  ...start,
  ...talk,
  ...tools,
};

export type Words = typeof en;
