// The text that a person looks for in a conversation.
import { createContext, useContext, useState } from "react";

/** In lower case, in the row of the current hit; elsewhere empty. */
export const SoughtText = createContext("");

/**
 * Returns whether all of a long text is shown, and a function that shows it. A hit in the hidden part
 * shows it, too.
 */
export function useShowAll(hidden: () => string): [boolean, () => void] {
  const [isAll, setAll] = useState(false);
  const sought = useContext(SoughtText);
  // It stays when the search goes on: nothing moves.
  if (!isAll && sought && hidden().toLowerCase().includes(sought)) setAll(true);
  return [isAll, () => setAll(true)];
}
