// The permission modes of agents, in plain words.
import { lookUp } from "../app/lookup";
import type { Words } from "../words/en";

/** Returns the modes for a menu, each once. A mode that the page does not know keeps its own name. */
export function modeChoices(modes: string[], words: Words): { value: string; text: string; hint?: string }[] {
  return [...new Set(modes)].map((value) => {
    const known = value === "" ? undefined : lookUp(words.modes, value);
    return known ? { value, ...known } : { value, text: value || words.defaultMode };
  });
}
