// The theme, dark or light: the system's, unless the person has chosen one.
import { useEffect } from "react";
import { useStored } from "./browserStorage";

export type Theme = "system" | "light" | "dark";

/** The colours of the browser's own bars: those of the paper. */
const BARS = { light: "#fbfaf8", dark: "#171817" };

function colourBars(theme: Theme): void {
  for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
    const system = meta.media.includes("dark") ? "dark" : "light";
    meta.content = BARS[theme === "system" ? system : theme];
  }
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [kept, keep] = useStored("theme");
  const theme: Theme = kept === "light" || kept === "dark" ? kept : "system";
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    colourBars(theme);
  }, [theme]);
  return [theme, (chosen) => keep(chosen === "system" ? null : chosen)];
}
