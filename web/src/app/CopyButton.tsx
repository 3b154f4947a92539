import { useState } from "react";
import { Icon } from "./Icon";
import { useWords } from "./language";

/** A button that copies text. */
export function CopyButton({ text }: { text: string }) {
  const words = useWords();
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    if (!(await toClipboard(text))) return; // the browser forbids it
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

/** A page without TLS has no clipboard API, but can copy a selection. */
export async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "hidden";
    const before = document.activeElement as HTMLElement | null;
    document.body.append(field);
    field.select();
    const isDone = document.execCommand("copy");
    field.remove();
    before?.focus();
    return isDone;
  }
}
