// The page itself, with the gallery in place of a server. The list of conversations is the list of the states.
import { replaceServer } from "./server";
import { STATES } from "./states";
import { open } from "./steps";

/** The browser's storage is the same in each visit: the usual keys, and only the marks of the states. */
function storeMarks(): void {
  const unread = STATES.filter((each) => each.isUnread).map(({ id }) => [id, [-1, 0]]);
  const shown = { since: Number.MAX_SAFE_INTEGER, seen: Object.fromEntries(unread) };
  localStorage.setItem("turnwire:shown", JSON.stringify(shown));
  localStorage.removeItem("turnwire:keys");
}

storeMarks();
replaceServer();
void import("../src/main").then(open);
