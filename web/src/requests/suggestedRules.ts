// Explains what "always" means: the rules that an agent suggests to remember.
import { lookUp } from "../app/lookup";
import { toolTitle } from "../tools/toolKinds";
import { isObject, listIn, textIn } from "../tools/toolValues";
import type { Words } from "../words/en";

/** Returns a line for each suggestion. A suggestion of an unknown kind is shown as raw data. */
export function rulesIn(suggestions: readonly unknown[], words: Words): string[] {
  return suggestions.map((each) => {
    const what = ruleIn(each, words);
    const where = lookUp(words.rules.where, textIn(each, "destination"));
    return where ? `${what} · ${where}` : what;
  });
}

function ruleIn(suggestion: unknown, words: Words): string {
  const rules = listIn(suggestion, "rules");
  const directories = listIn(suggestion, "directories").filter((each) => typeof each === "string");
  const mode = textIn(suggestion, "mode");
  const isAllowed = [undefined, "allow"].includes(textIn(suggestion, "behavior"));
  if (rules.length && isAllowed) return rules.map((rule) => ofTool(rule, words)).join(", ");
  if (directories.length) return words.rules.directories(directories.join(", "));
  if (isObject(suggestion) && suggestion.type === "setMode" && mode) return words.rules.mode(mode);
  // An option of the agent itself, in its own words.
  if (textIn(suggestion, "optionId")) return textIn(suggestion, "name", "optionId") ?? "";
  return JSON.stringify(suggestion);
}

function ofTool(rule: unknown, words: Words): string {
  const tool = textIn(rule, "toolName");
  if (!tool) return JSON.stringify(rule);
  const content = textIn(rule, "ruleContent");
  const name = toolTitle(tool, words);
  return content ? words.rules.toolWith(name, content) : words.rules.tool(name);
}
