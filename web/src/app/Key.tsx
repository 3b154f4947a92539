import { partsOf, type Shortcut, useShortcuts } from "./shortcuts";

interface Props {
  of: Shortcut;
  className?: string | undefined;
}

/** The key of a shortcut. Nothing if it is switched off. */
export function Key({ of, className }: Props) {
  const key = useShortcuts()[of];
  return (
    key &&
    partsOf(key).map((part) => (
      <kbd key={part} className={className}>
        {part}
      </kbd>
    ))
  );
}
