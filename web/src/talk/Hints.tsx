import { Key } from "../app/Key";
import { useWords } from "../app/language";
import { useShortcuts } from "../app/shortcuts";

const SIGNS = ["/", "@", "ArrowUp"] as const;
const SHORTCUTS = ["palette", "help"] as const;

/** What can be typed: for a person who sees the page for the first time. At the start there are no earlier messages. */
export function Hints({ isStart = false, hasCommands }: { isStart?: boolean; hasCommands: boolean }) {
  const words = useWords();
  const keys = useShortcuts();
  return (
    <ul className="hints">
      {SIGNS.filter((sign) => !(isStart && sign === "ArrowUp") && (hasCommands || sign !== "/")).map(
        (sign) => (
          <li key={sign} className={sign === "ArrowUp" ? "by-key" : undefined}>
            <kbd>{sign === "ArrowUp" ? "↑" : sign}</kbd> {words.hints[sign]}
          </li>
        ),
      )}
      {SHORTCUTS.filter((name) => keys[name] !== null).map((name) => (
        <li key={name} className="by-key">
          <Key of={name} /> {name === "help" ? words.keyboard : words.hints[name]}
        </li>
      ))}
    </ul>
  );
}
