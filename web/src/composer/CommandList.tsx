import { type KeyboardEvent, useEffect, useRef } from "react";
import { composer, focusComposer } from "../app/focus";
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";

export const LIST = "commands";

/** The id of an option, for the field's aria-activedescendant. */
export function optionId(at: number): string {
  return `command-${at}`;
}

interface Offered {
  name: string;
  argument_hint?: string | null;
  description?: string | null;
}

/** A list from which a person completes what they write: commands or files. */
export interface Choice {
  /** Whether the list is shown, or is loading. */
  isOpen: boolean;
  isLoading: boolean;
  found: readonly Offered[];
  /** The index of the selected one. */
  at: number;
  /** Returns whether the list has handled the key. */
  pressed: (event: KeyboardEvent) => boolean;
  choose(item: Offered): void;
  close: () => void;
}

interface Props {
  offered: Choice;
  /** The sign before each of them. */
  sign: "/" | "@";
}

/** The matching commands or files, above the field. The focus stays in the field. */
export function CommandList({ offered, sign }: Props) {
  const words = useWords();
  const { title, found: counted } = sign === "/" ? words.commands : words.mentions;
  const { found, at, isOpen, isLoading, choose, close, pressed } = offered;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at, found.length]);
  return (
    <>
      <span className="hidden" role="status">
        {isOpen && (found.length ? counted(found.length) : words.commands.loading)}
      </span>
      {isOpen && !found.length && isLoading && (
        <p className="commands muted" aria-hidden="true">
          <span className="spinner" /> {words.commands.loading}
        </p>
      )}
      {found.length > 0 && (
        <div
          ref={list}
          id={LIST}
          className="commands"
          role="listbox"
          tabIndex={0}
          aria-label={title}
          aria-activedescendant={optionId(at)}
          onKeyDown={(event) => {
            if (event.key === "Escape") focusComposer(); // otherwise nothing would have the focus
            pressed(event);
          }}
          onBlur={({ relatedTarget }) => relatedTarget !== composer() && close()}
        >
          {found.map((command, place) => (
            <div
              key={command.name}
              id={optionId(place)}
              role="option"
              tabIndex={-1}
              aria-selected={place === at}
              onMouseDown={(event) => event.preventDefault()} // otherwise the field would lose the focus
              onClick={() => choose(command)}
            >
              <span className="name">
                <code>
                  {sign}
                  <VisibleText text={command.name} />
                </code>
                {command.argument_hint && (
                  <code className="muted">
                    <VisibleText text={command.argument_hint} />
                  </code>
                )}
              </span>
              {command.description && (
                <small>
                  <VisibleText text={command.description} />
                </small>
              )}
            </div>
          ))}
        </div>
      )}
    </>
  );
}
