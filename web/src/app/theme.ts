// The theme, dark or light: the system's, unless the person has chosen one.
import { useEffect } from "react";
import { useStored } from "./browserStorage";

export type Theme = "system" | "light" | "dark";

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [kept, keep] = useStored("theme");
  const theme: Theme = kept === "light" || kept === "dark" ? kept : "system";
  useEffect(() => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }, [theme]);
  return [theme, (chosen) => keep(chosen === "system" ? null : chosen)];
}
