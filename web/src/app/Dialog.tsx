import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "./Icon";
import { useWords } from "./words";

interface Props {
  /** What a screen reader calls it. */
  label: string;
  title?: string | undefined;
  className?: string;
  /** Beside the way out. */
  actions?: ReactNode;
  /** It is closed by then. */
  close: () => void;
  children: (leave: () => void) => ReactNode;
}

/** Over everything else, with a title and a way out. Escape is one, too. */
export function Dialog({ label, title = label, className = "", actions, close, children }: Props) {
  const words = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const leave = () => dialog.current?.close(); // the keyboard goes back to where it was
  return (
    <dialog ref={dialog} className={className} aria-label={label} onClose={close}>
      <header>
        <h2>{title}</h2>
        {actions}
        <button type="button" className="quiet" aria-label={words.close} onClick={leave}>
          <Icon name="cross" />
        </button>
      </header>
      {children(leave)}
    </dialog>
  );
}
