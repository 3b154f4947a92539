// Values whose form is the agent's own: the input of a tool call, and its output.
import type { ReactElement } from "react";
import { isObject, shown } from "../headless/json.js";
import { VisibleText } from "./visible_text.js";

/** Shows the fields of an input, each with its whole value. Other inputs are shown as JSON. */
export function Input({ input }: { input: unknown }): ReactElement {
  const fields = isObject(input) ? Object.entries(input) : [];
  if (!fields.length) return <Value text={shown(input)} />;
  return (
    <dl data-turnwire="input">
      {fields.map(([name, value]) => (
        <div key={name}>
          <dt>
            <VisibleText text={name} />
          </dt>
          <dd>
            <Value text={shown(value)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** A text with more characters or lines may have to be scrolled. */
const SHORT = 400;
const FEW_LINES = 12;

/** Shows a text as it is. A long one takes the focus, so that the keyboard can scroll it. */
export function Value({ text }: { text: string }): ReactElement {
  const isLong = text.length > SHORT || text.split("\n").length > FEW_LINES;
  return (
    <pre tabIndex={isLong ? 0 : undefined}>
      <VisibleText text={text} />
    </pre>
  );
}
