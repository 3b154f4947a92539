// The language of the page: the browser's, unless the person has chosen one.
import { createContext, type ReactNode, useContext, useEffect, useState } from "react";
import { en, type Words } from "../words/en";
import { readStored, useStored } from "./browserStorage";

/** The words that are loaded. English is a part of the page; it is also the type of the others. */
const loaded: Record<string, Words> = { en };
const OTHERS: Record<string, () => Promise<Words>> = {
  zh: async () => (await import("../words/zh")).zh,
};
const Context = createContext<Words>(en);

function usual(): string {
  return navigator.languages.some(
    (each, at) =>
      each.startsWith("zh") && !navigator.languages.slice(0, at).some((before) => before.startsWith("en")),
  )
    ? "zh"
    : "en";
}

function known(chosen: string | null): string {
  return chosen === "en" || (chosen !== null && Object.hasOwn(OTHERS, chosen)) ? chosen : usual();
}

/** Loads the words of a language, once. */
async function load(language: string): Promise<void> {
  const words = await OTHERS[language]?.();
  if (words) loaded[language] = words;
}

/** Loads the words that the page begins with; undefined if they are there. */
export function loadFirstWords(): Promise<void> | undefined {
  const first = known(readStored("language"));
  return Object.hasOwn(loaded, first) ? undefined : load(first).catch(() => {});
}

/** Loads the words of all languages, so that a change of the language needs no connection. */
export async function loadAllWords(): Promise<void> {
  for (const each of Object.keys(OTHERS)) await load(each).catch(() => {});
}

export function useLanguage(): [string, (language: string) => void] {
  const [chosen, choose] = useStored("language");
  return [known(chosen), choose];
}

/** Until the words of a chosen language are loaded, the page keeps those that it shows. */
export function WordsProvider(props: { children: ReactNode }) {
  const [language] = useLanguage();
  const [shown, setShown] = useState(Object.hasOwn(loaded, language) ? language : "en");
  const isReady = Object.hasOwn(loaded, language);
  const now = isReady ? language : shown;
  useEffect(() => {
    document.documentElement.lang = now === "zh" ? "zh-CN" : "en";
  }, [now]);
  useEffect(() => {
    if (isReady) return setShown(language);
    let isGone = false;
    const fetch = () =>
      load(language).then(
        () => isGone || setShown(language),
        () => {},
      );
    void fetch();
    addEventListener("online", fetch);
    return () => {
      isGone = true;
      removeEventListener("online", fetch);
    };
  }, [language, isReady]);
  return <Context.Provider value={loaded[now] ?? en}>{props.children}</Context.Provider>;
}

/** Returns the texts of the page in the chosen language. */
export function useWords(): Words {
  return useContext(Context);
}
