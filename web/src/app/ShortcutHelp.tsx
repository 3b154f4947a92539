import { Fragment, useId } from "react";
import { Dialog } from "./Dialog";
import { Icon } from "./Icon";
import { Key } from "./Key";
import { useKeyWords } from "./keyWords";
import { useWords } from "./language";
import { goTo } from "./navigation";
import { type Shortcut, useShortcuts } from "./shortcuts";

export const GROUPS = {
  everywhere: ["palette", "new", "search", "inbox", "back", "next", "previous", "list", "theme", "help"],
  conversation: ["find", "write", "agent", "earlier", "later", "quote", "stop"],
  permission: ["allow", "deny", "always"],
} as const satisfies Record<string, readonly Shortcut[]>;
export type GroupOfKeys = keyof typeof GROUPS;

/** Keys of text fields. They cannot be changed. */
const WRITING = ["Enter", "Shift+Enter", "ArrowUp", "/", "@", "Esc"] as const;

/** The dialog with the keyboard shortcuts. */
export function ShortcutHelp({ close }: { close: () => void }) {
  const words = useWords();
  const text = useKeyWords();
  return (
    <Dialog label={words.keyboard} className="help" close={close}>
      {(leave) => (
        <>
          <Shortcuts group="everywhere" />
          <Shortcuts group="conversation" />
          <WritingKeys />
          <Shortcuts group="permission" />
          <button
            type="button"
            onClick={() => {
              leave(); // first, because it moves the focus
              goTo({ name: "settings", part: "keys" });
              document.getElementById("keys")?.focus(); // if the settings are shown already
            }}
          >
            <Icon name="pencil" /> {text.open}
          </button>
        </>
      )}
    </Dialog>
  );
}

/** The shortcuts of a group that have a key. */
function Shortcuts({ group }: { group: GroupOfKeys }) {
  const text = useKeyWords();
  const keys = useShortcuts();
  const id = useId();
  const all = GROUPS[group].filter((name) => keys[name] !== null);
  if (!all.length) return null;
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>{text.groups[group]}</h3>
      <dl>
        {all.map((name) => (
          <div key={name}>
            <dt>
              <Key of={name} />
            </dt>
            <dd>{text.names[name]}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

export function WritingKeys() {
  const text = useKeyWords();
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>{text.groups.writing}</h3>
      <dl>
        {WRITING.map((key) => (
          <div key={key}>
            <dt>
              {key.split("+").map((each) => (
                <Fragment key={each}>
                  <kbd>{each === "ArrowUp" ? "↑" : each}</kbd>
                </Fragment>
              ))}
            </dt>
            <dd>{text.names[key]}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
