import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Icon, type IconName } from "./Icon";

interface Props {
  label: string;
  /** What a pointer and a screen reader tell besides; absent: only the label. */
  title?: string;
  icon?: IconName;
  /** The content of the button, instead of an icon. */
  face?: ReactNode;
  className?: string;
  /** The chosen value, if the menu chooses one. */
  value?: string | undefined;
  children: (close: () => void) => ReactNode;
}

/** Pixels between a menu and the edges of the window. */
const EDGE = 8;

/**
 * Returns the place of a menu next to its button, inside of the window, whatever scrolls around it.
 * `isChoice`: it begins where its button begins, otherwise it ends where the button ends.
 */
function placeOf(
  button: DOMRect,
  menu: DOMRect,
  isChoice: boolean,
): { top: number; left: number; height: number } {
  const below = button.bottom + 4;
  const isAbove = below + menu.height > innerHeight - EDGE && button.top > innerHeight - button.bottom;
  const top = isAbove ? Math.max(EDGE, button.top - 4 - menu.height) : below;
  const left = Math.min(
    Math.max(EDGE, isChoice ? button.left : button.right - menu.width),
    innerWidth - EDGE - menu.width,
  );
  return { top, left, height: (isAbove ? button.top - 4 : innerHeight - EDGE) - top };
}

/** A button that opens a small menu. Escape, or a click outside, closes it. */
export function MenuButton({
  label,
  title = label,
  icon = "more",
  face,
  className = "quiet",
  value,
  children,
}: Props) {
  const [isOpen, setOpen] = useState(false);
  const menu = useRef<HTMLDivElement>(null);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const isChoice = value !== undefined;
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  useLayoutEffect(() => {
    if (!isOpen || !button.current || !menu.current) return;
    const { top, left, height } = placeOf(
      button.current.getBoundingClientRect(),
      menu.current.getBoundingClientRect(),
      isChoice,
    );
    Object.assign(menu.current.style, { top: `${top}px`, left: `${left}px`, maxHeight: `${height}px` });
    const items = [...menu.current.querySelectorAll<HTMLElement>("[role^=menuitem]")];
    // Scrolling would close the menu.
    (items.find((each) => each.ariaChecked === "true") ?? items[0])?.focus({ preventScroll: true });
  }, [isOpen, isChoice]);
  useEffect(() => {
    if (!isOpen) return;
    const away = (event: PointerEvent) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    const moved = (event: Event) => {
      const isElsewhere = event.target instanceof Node && !event.target.contains(button.current);
      if (!isElsewhere) setOpen(false);
    };
    addEventListener("pointerdown", away);
    addEventListener("scroll", moved, true); // the menu would stay where its button was
    addEventListener("resize", moved);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("scroll", moved, true);
      removeEventListener("resize", moved);
    };
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
        className={className}
        data-value={value}
        aria-label={label}
        title={title}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {face ?? <Icon name={icon} />}
      </button>
      {isOpen && (
        <div ref={menu} className="menu" role="menu" aria-label={label}>
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

interface Choice<T> {
  value: T;
  text: ReactNode;
  /** A line below the text. */
  hint?: ReactNode;
}

interface ChoicesProps<T> {
  label: string;
  all: Choice<T>[];
  chosen: T;
  choose: (value: T) => void;
}

/** A group of menu items of which one is chosen. */
export function MenuChoices<T extends string | undefined>({ label, all, chosen, choose }: ChoicesProps<T>) {
  return (
    <div className="menu-choices" role="group" aria-label={label}>
      <p aria-hidden="true">{label}</p>
      {all.map(({ value, text, hint }) => (
        <button
          key={String(value)}
          type="button"
          role="menuitemradio"
          aria-checked={value === chosen}
          data-value={value}
          onClick={() => choose(value)}
        >
          <Icon name="check" />
          <span>
            {text}
            {hint && <small>{hint}</small>}
          </span>
        </button>
      ))}
    </div>
  );
}

/** A button with the chosen value, which opens a menu of all values. */
export function MenuSelect<T extends string | undefined>({ label, all, chosen, choose }: ChoicesProps<T>) {
  const text = all.find((each) => each.value === chosen)?.text ?? chosen;
  return (
    <MenuButton
      label={typeof text === "string" ? `${label}: ${text}` : label}
      title={label}
      className="menu-select"
      value={chosen}
      face={
        <>
          <span>{text}</span> <Icon name="down" />
        </>
      }
    >
      {(close) => (
        <MenuChoices
          label={label}
          all={all}
          chosen={chosen}
          choose={(value) => {
            close();
            choose(value);
          }}
        />
      )}
    </MenuButton>
  );
}
