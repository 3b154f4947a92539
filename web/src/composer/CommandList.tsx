import { useEffect, useRef } from "react";
import { composer, focusComposer } from "../app/focus";
import { useWords } from "../app/language";
import { VisibleText } from "../markdown/VisibleText";
import type { CommandChoice } from "./slashCommands";

export const LIST = "commands";

/** The id of an option, for the field's aria-activedescendant. */
export function optionId(at: number): string {
  return `command-${at}`;
}

/** The matching commands, above the field. The focus stays in the field. */
export function CommandList({ offered }: { offered: CommandChoice }) {
  const words = useWords();
  const { found, at, isOpen, isLoading, choose, close, pressed } = offered;
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at, found.length]);
  return (
    <>
      <span className="hidden" role="status">
        {isOpen && (found.length ? words.commands.found(found.length) : words.commands.loading)}
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
          aria-label={words.commands.title}
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
                  /<VisibleText text={command.name} />
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
