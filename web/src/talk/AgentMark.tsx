// Small marks beside messages: who speaks. They are drawn here; nothing is loaded.
import { createContext, useContext } from "react";
import { Icon } from "../app/Icon";
import { VisibleText } from "../markdown/VisibleText";

/** The number of colours in marks.css. */
const HUES = 8;

/** The agent of the conversation, for answers whose log names no other. */
export const AgentName = createContext("");

/** Returns two letters: of the first two words, or of the only one. */
export function initialsOf(name: string): string {
  const [first = "", second] = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const letters = second ? [...first].slice(0, 1).concat([...second].slice(0, 1)) : [...first].slice(0, 2);
  return letters.map((each, at) => (at && !second ? each : each.toUpperCase())).join("");
}

/** Returns the colour of an agent: always the same for the same name. */
export function hueOf(name: string): number {
  let sum = 0;
  for (const each of name) sum = (sum * 31 + (each.codePointAt(0) ?? 0)) % 997;
  return sum % HUES;
}

/** The mark alone. The letters are a style: they are neither copied nor read aloud. */
export function Initials({ name }: { name: string }) {
  return (
    <span className={`initials hue-${hueOf(name)}`} data-letters={initialsOf(name)} aria-hidden="true" />
  );
}

/** The mark of an agent. Its name is shown beside it on a small screen, or if several agents speak. */
export function AgentMark({ name: told, isTold }: { name: string; isTold: boolean }) {
  const usual = useContext(AgentName);
  const name = told || usual;
  if (!name) return null;
  return (
    <p className="by">
      <Initials name={name} />
      <span className={isTold ? "speaker" : "by-name"} aria-hidden={!isTold}>
        <VisibleText text={name} />
      </span>
    </p>
  );
}

export function PersonMark() {
  return (
    <span className="initials person" aria-hidden="true">
      <Icon name="person" />
    </span>
  );
}
