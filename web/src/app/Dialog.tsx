import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "./Icon";
import { useWords } from "./language";

interface Props {
  /** The accessible name. */
  label: string;
  title?: string | undefined;
  className?: string;
  /** Shown next to the close button. */
  actions?: ReactNode;
  /** Called after it has closed. */
  close: () => void;
  children: (leave: () => void) => ReactNode;
}

/** A modal dialog with a title and a close button. Escape closes it, too. */
export function Dialog({ label, title = label, className = "", actions, close, children }: Props) {
  const words = useWords();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const leave = () => dialog.current?.close(); // the focus goes back to where it was
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
