import { Dialog } from "./Dialog";
import { useWords } from "./language";

const KEYS = [
  "Ctrl+K",
  "Ctrl+F",
  "c",
  "s",
  "g",
  "b",
  "j",
  "k",
  "l",
  "i",
  "m",
  "[",
  "]",
  "/",
  "@",
  "Enter",
  "Shift+Enter",
  "ArrowUp",
  "Esc",
  "y",
  "n",
  "a",
  "t",
  "?",
] as const;

/** The dialog with the keyboard shortcuts. */
export function ShortcutHelp({ close }: { close: () => void }) {
  const words = useWords();
  return (
    <Dialog label={words.keyboard} className="help" close={close}>
      {() => <KeyList />}
    </Dialog>
  );
}

/** The keyboard shortcuts. */
export function KeyList() {
  const words = useWords();
  return (
    <dl>
      {KEYS.map((key) => (
        <div key={key}>
          <dt>
            {key.split("+").map((each) => (
              <kbd key={each}>{each === "ArrowUp" ? "↑" : each}</kbd>
            ))}
          </dt>
          <dd>{words.keys[key]}</dd>
        </div>
      ))}
    </dl>
  );
}
