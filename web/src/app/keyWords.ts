// The words about the keyboard, which the first view of the page does not need.
import { keys as en } from "../words/en/keys";
import { keys as zh } from "../words/zh/keys";
import { useLanguage, useWords } from "./language";

const LOADED: Record<string, typeof en> = { en, zh };

export function useKeyWords() {
  const { hints } = useWords();
  const words = LOADED[useLanguage()[0]] ?? en;
  return { ...words, names: { ...words.names, ...hints } };
}
