import { useEffect, useRef } from "react";
import { Icon } from "./Icon";
import { useWords } from "./words";

const KEYS = [
  "c",
  "s",
  "g",
  "b",
  "j",
  "k",
  "i",
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

/** The sheet of keys. */
export function Help({ close }: { close: () => void }) {
  const words = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} className="help" aria-label={words.keyboard} onClose={close}>
      <header>
        <h2>{words.keyboard}</h2>
        <button
          type="button"
          className="quiet"
          aria-label={words.close}
          onClick={() => dialog.current?.close()}
        >
          <Icon name="cross" />
        </button>
      </header>
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
    </dialog>
  );
}
