// The places of the page. The address names the place, so that it can be shared, reloaded and
// revisited.
import { type MouseEvent, useSyncExternalStore } from "react";

export type Place =
  | { name: "home" }
  | { name: "new" }
  | { name: "inbox" }
  | { name: "settings"; part?: "keys" | undefined }
  | { name: "search"; words: string }
  | { name: "enter"; link: string }
  | { name: "shared"; secret: string }
  | { name: "talk"; id: string; at?: number | undefined };

/** The path of the page on the server, with a slash at its end. */
const base = new URL(document.baseURI).pathname;
const listeners = new Set<() => void>();
let last: { address: string; place: Place } | undefined;

export function addressOf(place: Place): string {
  switch (place.name) {
    case "home":
      return base;
    case "new":
      return `${base}new`;
    case "inbox":
      return `${base}inbox`;
    case "settings":
      return `${base}settings${place.part ? `#${place.part}` : ""}`;
    case "search":
      return `${base}search?q=${encodeURIComponent(place.words)}`;
    case "enter":
      return `${base}enter?link=${encodeURIComponent(place.link)}`;
    case "shared":
      return `${base}shared#${place.secret}`;
    case "talk":
      return `${base}c/${encodeURIComponent(place.id)}${place.at === undefined ? "" : `?at=${place.at}`}`;
  }
}

/** Decodes a part of the path. Returns an invalid part unchanged: it will not be found. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function read(): Place {
  const path = location.pathname.slice(base.length);
  const query = new URLSearchParams(location.search);
  const [first, second] = path.split("/");
  if (first === "c" && second) {
    const at = Number(query.get("at"));
    return { name: "talk", id: decoded(second), at: at > 0 ? at : undefined };
  }
  if (first === "search") return { name: "search", words: query.get("q") ?? "" };
  if (first === "enter") return { name: "enter", link: query.get("link") ?? "" };
  if (first === "shared") return { name: "shared", secret: location.hash.slice(1) };
  if (first === "settings") return { name: first, part: location.hash === "#keys" ? "keys" : undefined };
  if (first === "inbox" || first === "new") return { name: first };
  return { name: "home" };
}

function look(): Place {
  const address = location.pathname + location.search + location.hash; // another share link may follow
  if (last?.address !== address) last = { address, place: read() };
  return last.place;
}

function tell(): void {
  for (const listener of [...listeners]) listener();
}

/** The state of a place in the browser's history. */
interface Stop {
  /** The number of places of this page before it. */
  depth: number;
  isWalk: boolean;
}

function here(): Stop {
  return (history.state as Stop | null) ?? { depth: 0, isWalk: false };
}

/**
 * Goes to a place. `walk` is navigation with the keyboard: the new place then does not take the
 * focus.
 */
export function goTo(place: Place, how: "push" | "replace" | "walk" = "push"): void {
  const address = addressOf(place);
  if (address === location.pathname + location.search + location.hash) return;
  const { depth } = here();
  if (how === "replace") history.replaceState({ depth, isWalk: false } satisfies Stop, "", address);
  else history.pushState({ depth: depth + 1, isWalk: how === "walk" } satisfies Stop, "", address);
  tell();
}

/** Goes back, but never out of this page. */
export function goBack(): void {
  if (here().depth > 0) history.back();
  else goTo({ name: "home" });
}

export function isKeyboardNavigation(): boolean {
  return here().isWalk;
}

export function usePlace(): Place {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    addEventListener("popstate", listener);
    return () => {
      listeners.delete(listener);
      removeEventListener("popstate", listener);
    };
  }, look);
}

/**
 * Properties of a link inside of the page. With a modifier the browser handles the click. `clicked` is called
 * without one, also if the place is shown already.
 */
export function linkTo(
  place: Place,
  clicked?: () => void,
): { href: string; onClick: (event: MouseEvent) => void } {
  return {
    href: addressOf(place),
    onClick: (event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      clicked?.();
      goTo(place);
    },
  };
}
