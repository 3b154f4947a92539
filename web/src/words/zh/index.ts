// 中文界面。
import type { Words } from "../en";
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

export const zh: Words = {
  locale: "zh-CN",
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
