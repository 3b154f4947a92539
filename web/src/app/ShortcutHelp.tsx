import { useId } from "react";
import { Dialog } from "./Dialog";
import { useWords } from "./language";

const GROUPS = {
  everywhere: ["Ctrl+K", "c", "s", "g", "b", "j", "k", "l", "t", "?"],
  conversation: ["Ctrl+F", "i", "m", "[", "]", "q", "Esc"],
  writing: ["Enter", "Shift+Enter", "ArrowUp", "/", "@"],
  permission: ["y", "n", "a"],
} as const;
const NAMES = ["everywhere", "conversation", "writing", "permission"] as const;

/** The dialog with the keyboard shortcuts. */
export function ShortcutHelp({ close }: { close: () => void }) {
  const words = useWords();
  return (
    <Dialog label={words.keyboard} className="help" close={close}>
      {() => <KeyList />}
    </Dialog>
  );
}

/** The keyboard shortcuts, by where they work. */
export function KeyList() {
  const words = useWords();
  const id = useId(); // the dialog may be open on the page of the settings
  return NAMES.map((name) => (
    <section key={name} aria-labelledby={`${id}${name}`}>
      <h3 id={`${id}${name}`}>{words.keyGroups[name]}</h3>
      <dl>
        {GROUPS[name].map((key) => (
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
    </section>
  ));
}
