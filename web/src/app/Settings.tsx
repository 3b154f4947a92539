// The account, the settings of this browser, and the keyboard shortcuts.
import { useEffect, useRef } from "react";
import { useNotify } from "../inbox/notifications";
import { RuleList } from "../requests/RuleList";
import { Account } from "./Account";
import { KeySettings } from "./KeySettings";
import { useLanguage, useWords } from "./language";
import { PageHeader } from "./PageHeader";
import { type Theme, useTheme } from "./theme";

const THEMES: Theme[] = ["system", "light", "dark"];
const LANGUAGES = [
  ["en", "English", "en"],
  ["zh", "中文", "zh-CN"],
] as const;

/** `part`: which one is shown first. */
export default function Settings({ part }: { part: "keys" | undefined }) {
  const words = useWords();
  const keys = useRef<HTMLElement>(null);
  useEffect(() => {
    if (part === "keys") keys.current?.focus();
  }, [part]);
  const [theme, setTheme] = useTheme();
  const [language, setLanguage] = useLanguage();
  const notify = useNotify();
  return (
    <main className="page settings" id="main">
      <PageHeader title={words.settings.title} />
      <Account />
      <section className="browser-settings">
        <h2>{words.settings.browser}</h2>
        <p className="muted">{words.settings.hint}</p>
        <fieldset>
          <legend>{words.language}</legend>
          {LANGUAGES.map(([value, text, lang]) => (
            <label key={value} lang={lang}>
              <input
                type="radio"
                name="language"
                checked={language === value}
                onChange={() => setLanguage(value)}
              />
              {text}
            </label>
          ))}
        </fieldset>
        <fieldset>
          <legend>{words.theme}</legend>
          {THEMES.map((value) => (
            <label key={value}>
              <input type="radio" name="theme" checked={theme === value} onChange={() => setTheme(value)} />
              {words.themes[value]}
            </label>
          ))}
        </fieldset>
        <fieldset>
          <legend>{words.settings.notify}</legend>
          <p className="muted">{notify.isPossible ? words.settings.notifyHint : words.cannotNotify}</p>
          {notify.isPossible && (
            <label>
              <input type="checkbox" checked={notify.isOn} onChange={notify.toggle} />
              {words.notifyOn}
            </label>
          )}
        </fieldset>
      </section>
      <section className="browser-settings">
        <h2>{words.givenRules.title}</h2>
        <RuleList />
      </section>
      <section id="keys" tabIndex={-1} ref={keys} aria-labelledby="keys-title">
        <h2 id="keys-title">{words.keyboard}</h2>
        <KeySettings />
      </section>
    </main>
  );
}
