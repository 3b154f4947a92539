import { useNotify } from "../inbox/notifications";
import { Icon } from "./Icon";
import { Key } from "./Key";
import { useLanguage, useWords } from "./language";
import { MenuButton, MenuItem } from "./Menu";
import { goTo } from "./navigation";
import { closeSidebar } from "./sidebar";
import { type Theme, useTheme } from "./theme";

const THEMES: Theme[] = ["system", "light", "dark"];
const ICONS = { system: "auto", light: "sun", dark: "moon" } as const;

/** Theme, language, notifications, help. */
export function Preferences({ help }: { help: () => void }) {
  const words = useWords();
  const [theme, setTheme] = useTheme();
  const [language, setLanguage] = useLanguage();
  const notify = useNotify();
  return (
    <MenuButton label={words.preferences}>
      {(close) => (
        <>
          <div className="choice" role="group" aria-label={words.theme}>
            {THEMES.map((each) => (
              <button
                key={each}
                type="button"
                role="menuitemradio"
                aria-checked={theme === each}
                onClick={() => setTheme(each)}
              >
                <Icon name={ICONS[each]} /> {words.themes[each]}
              </button>
            ))}
          </div>
          <div className="choice" role="group" aria-label={words.language}>
            {(["en", "zh"] as const).map((each) => (
              <button
                key={each}
                type="button"
                role="menuitemradio"
                aria-checked={language === each}
                lang={each === "zh" ? "zh-CN" : "en"}
                onClick={() => setLanguage(each)}
              >
                {each === "zh" ? "中文" : "English"}
              </button>
            ))}
          </div>
          {notify.isPossible && (
            <MenuItem icon="bell" onClick={notify.toggle}>
              {notify.isOn ? words.notifyOff : words.notifyOn}
            </MenuItem>
          )}
          <MenuItem
            icon="settings"
            onClick={() => {
              close();
              closeSidebar();
              goTo({ name: "settings" });
            }}
          >
            {words.settings.title}
          </MenuItem>
          <MenuItem
            icon="question"
            onClick={() => {
              close();
              help();
            }}
          >
            {words.keyboard} <Key of="help" />
          </MenuItem>
        </>
      )}
    </MenuButton>
  );
}
