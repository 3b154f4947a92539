// The language of the page: the browser's, unless the person has chosen one.
import { createContext, type ReactNode, useContext, useEffect } from "react";
import { en, type Words } from "../words/en";
import { zh } from "../words/zh";
import { useStored } from "./browserStorage";

const LANGUAGES: Record<string, Words> = { en, zh };
const Context = createContext<Words>(en);

function usual(): string {
  return navigator.languages.some(
    (each, at) =>
      each.startsWith("zh") && !navigator.languages.slice(0, at).some((before) => before.startsWith("en")),
  )
    ? "zh"
    : "en";
}

export function useLanguage(): [string, (language: string) => void] {
  const [chosen, choose] = useStored("language");
  return [chosen !== null && Object.hasOwn(LANGUAGES, chosen) ? chosen : usual(), choose];
}

export function WordsProvider(props: { children: ReactNode }) {
  const [language] = useLanguage();
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
  }, [language]);
  return <Context.Provider value={LANGUAGES[language] ?? en}>{props.children}</Context.Provider>;
}

/** Returns the texts of the page in the chosen language. */
export function useWords(): Words {
  return useContext(Context);
}
