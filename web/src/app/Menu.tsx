import { type ReactNode, useEffect, useRef, useState } from "react";
import { Icon, type IconName } from "./Icon";

interface Props {
  label: string;
  icon?: IconName;
  children: (close: () => void) => ReactNode;
}

/** A button that opens a small menu. Escape, or a click outside, closes it. */
export function MenuButton({ label, icon = "more", children }: Props) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return;
    root.current?.querySelector<HTMLElement>("[role^=menuitem]")?.focus();
    const away = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", away);
    return () => removeEventListener("pointerdown", away);
  }, [isOpen]);
  return (
    <div
      className="menu-root"
      ref={root}
      onKeyDown={(event) => {
        if (!isOpen) return;
        if (event.key === "Escape") {
          event.preventDefault();
          event.stopPropagation();
          close();
        }
        const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
        if (!step) return;
        event.preventDefault();
        const items = [...(root.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
        const at = items.indexOf(document.activeElement as HTMLElement);
        items.at((at + step) % items.length)?.focus();
      }}
    >
      <button
        ref={button}
        type="button"
        className="quiet"
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} />
      </button>
      {isOpen && (
        <div className="menu" role="menu" aria-label={label}>
          {children(close)}
        </div>
      )}
    </div>
  );
}

interface ItemProps {
  icon: IconName;
  children: ReactNode;
  onClick: () => void;
  isBad?: boolean;
  autoFocus?: boolean;
}

export function MenuItem({ icon, children, onClick, isBad = false, autoFocus = false }: ItemProps) {
  return (
    <button
      type="button"
      role="menuitem"
      className={isBad ? "bad" : ""}
      autoFocus={autoFocus}
      onClick={onClick}
    >
      <Icon name={icon} /> {children}
    </button>
  );
}
