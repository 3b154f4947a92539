import { useWords } from "../app/language";

const KEYS = ["/", "@", "ArrowUp", "Ctrl+K", "?"] as const;

/** What can be typed: for a person who sees the page for the first time. At the start there are no earlier messages. */
export function Hints({ isStart = false, hasCommands }: { isStart?: boolean; hasCommands: boolean }) {
  const words = useWords();
  return (
    <ul className="hints">
      {KEYS.filter((key) => !(isStart && key === "ArrowUp") && (hasCommands || key !== "/")).map((key) => (
        <li key={key} className={key === "/" || key === "@" ? undefined : "by-key"}>
          {key.split("+").map((each) => (
            <kbd key={each}>{each === "ArrowUp" ? "↑" : each}</kbd>
          ))}{" "}
          {key === "?" ? words.keyboard : words.keys[key]}
        </li>
      ))}
    </ul>
  );
}
