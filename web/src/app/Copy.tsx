import { useState } from "react";
import { Icon } from "./Icon";
import { useWords } from "./words";

/** A button that copies. */
export function Copy({ text }: { text: string }) {
  const words = useWords();
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      return; // the browser does not allow it
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" className="quiet small" onClick={copy} aria-label={words.copy} title={words.copy}>
      <Icon name={isDone ? "check" : "copy"} />
      <span aria-live="polite" className="hidden">
        {isDone ? words.copied : ""}
      </span>
    </button>
  );
}
